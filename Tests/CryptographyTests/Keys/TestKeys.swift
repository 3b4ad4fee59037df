import Cryptography

/// Keys with which tests sign.
///
/// None of them protects anything.
enum TestKeys {
    /// The RSA key in RFC 7515, appendix A.2, as PKCS #8.
    static let rfc7515 = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXO
        jS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913EeZ8dCn5VrD7io8ImtxL
        aYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNn
        juygxmj3AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5
        ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkf
        toaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHg
        VFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyW
        PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/G
        O+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj
        kn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6
        XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB
        4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0K
        pLttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr
        0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqE
        lMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6
        kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAP
        rq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNw
        kgMTP1FZ1wKBgAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp
        5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75gJLVds2
        9+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/
        evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcG
        yoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZj
        OYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2
        tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3
        ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56
        03k2+ZQwVK0JKSHuLFkuQ3U=
        -----END PRIVATE KEY-----
        """

    /// The same key as PKCS #1.
    static let rfc7515PKCS1 = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEowIBAAKCAQEAofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd/wWJcyQoTbji9k0
        l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL+yRT+SFd2lZS+pC
        gNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb/7OMg0LOL+bSf63kpaSHSX
        ndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uD
        Zlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxXFvUK+DWNmoudF8NAco9/h9iaGNj8
        q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQIDAQABAoIBABKucaRpzQorw35S
        bEUAVx8dYXUdZOlJcHtiWQ+dC6V8ljxAHj/PLyzTveyI5QO/xkObCyjIL303l2cf
        UhPu2MFaJdjVzqACXuOrLot/eSFvxjvqVidTtAZExqFRJ9mylUVAoLvhowVWmC1O
        n95fZCXxTUtxNEG1Xcc7m0rtzJKs45J+N/V9DP1edYH6USyPSWGp6wuA+KgHRnKK
        Vf9GRx80JQY7nVNkL17eHoTWEwga+lwi0FEoW9Y7lDtWXYmKBWhUE+U8PGxlJf8f
        40493HDw1WRQ/aSLoS4QTp3rn7gYgeHEvfJdkkf0UMhlknlo53M09EFPdadQ4TlU
        bjqKc50CgYEA4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH/5IB3jw3bcxGn6QLvnE
        tfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw/Py5PJdTJNPY8cQn7ouZ2KKDcmnPG
        BY5t7yLc1QlQ5xHdwW1VhvKn+nXqhJTBgIPgtldC+KDV5z+y2XDwGUcCgYEAuQPE
        fgmVtjL0Uyyx88GZFF1fOunH3+7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYs
        p1ZSe7zFYHj7C6ul7TjeLQeZD/YwD66t62wDmpe/HlB+TnBA+njbglfIsRLtXlnD
        zQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdcCgYAHAp9XcCSrn8wVkMVkKdb7
        DOX4IKjzdahm+ctDAJN4O/y7OW5FKebvUjdAIt2GuoTZ71iTG+7F0F+lP88jtjP4
        U4qe7VHoewl4MKOfXZKTe+YCS1XbNvfgwJ3Ltyl1OH9hWvu2yza7q+d5PCsDzqtm
        27kxuvULVeya+TEdAB1ijQKBgQCH/3r6YrVH/uCWGy6bzV1nGNOdjKc9tmkfOJmN
        54dxdixdpozCQ6U4OxZrsj3FcOhHBsqAHvX2uuYjagqvo3cOj1TRqNocX40omfCC
        Mx3bD1yPPf/6TI2XECva/ggqEY2mYzmIiA5LVVmc5nrybr+lssFKneeyxN2Wq93S
        0iJMdQKBgCGHewxzoa1r8ZMD0LETNrToK423K377UCYqXfg5XMclbrjPbEC3YI1Z
        NqMtuhdBJqUnBi6tjKMF+34Xf0CUN8ncuXGO2CAYvO8PdyCixHX52ybaDjy1FtCE
        6yUXjoKNXKvUm7MWGsAYH6f4IegOetN5NvmUMFStCSkh7ixZLkN1
        -----END RSA PRIVATE KEY-----
        """

    /// A P-256 key as SEC 1.
    static let p256SEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIOINnKEQf6TotST7w9gjgMPC6V+wjOeWlF4Ge9Pkn7H3oAoGCCqGSM49
        AwEHoUQDQgAEiLCGwbnr0/RdXLEeoyPFw3RAn96MryLQf7UWeHbiKYguiIqUuR91
        JwfN5/2BYojJwNVXhgqcaVSYI2oBx78K1w==
        -----END EC PRIVATE KEY-----
        """

    /// The same key after the parameters that OpenSSL's tools write in front of it.
    static let p256WithParameters = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIOINnKEQf6TotST7w9gjgMPC6V+wjOeWlF4Ge9Pkn7H3oAoGCCqGSM49
        AwEHoUQDQgAEiLCGwbnr0/RdXLEeoyPFw3RAn96MryLQf7UWeHbiKYguiIqUuR91
        JwfN5/2BYojJwNVXhgqcaVSYI2oBx78K1w==
        -----END EC PRIVATE KEY-----
        """

    /// The same key as PKCS #8.
    static let p256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4g2coRB/pOi1JPvD
        2COAw8LpX7CM55aUXgZ70+SfsfehRANCAASIsIbBuevT9F1csR6jI8XDdECf3oyv
        ItB/tRZ4duIpiC6IipS5H3UnB83n/YFiiMnA1VeGCpxpVJgjagHHvwrX
        -----END PRIVATE KEY-----
        """

    /// The public key of `p256`.
    static let p256Public = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEiLCGwbnr0/RdXLEeoyPFw3RAn96M
        ryLQf7UWeHbiKYguiIqUuR91JwfN5/2BYojJwNVXhgqcaVSYI2oBx78K1w==
        -----END PUBLIC KEY-----
        """
}

/// Keys that must be rejected.
enum RefusedKeys {
    /// An RSA key that is too small.
    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBANj+EvjBfn7y2o0A
        WD/kKcAC/b8auUVX5IWYYRFrz8/0AdmM5Q4vgU9F5z0GWZa8ORfNqjnrihgs5RAV
        7sDllTRcFJNPEQt14KiwTqFoCB9gfpDljFFY5mK6QuAA3RcIPXLNlcajAJP/55cQ
        SJ+MIu66mh/UN8WVF34QmFtTxxS9AgMBAAECgYA3AkIA+dx9hkdNU3cLy2WiHaAC
        IF4zbBKso3KIHhKynyMQ6Zzvua9IT2pNmByCD/lRRXwP7tw1QLxZFZZPJGRsR8b9
        qgelfzUHNMBaWesKQ/krH44EwlBqxfvmaljwFpFFjM/VXryHQ5t0u8f78zjZnPGt
        CdiW6bOnW6DRRFPm6QJBAP7EKMM7qd8Yja2p0uOfMndN5iXIUMqedi7Eije21VbK
        xU4eG4ooVX9ppNOJoBs8LalistrF17iciq5E6Ajb99MCQQDaCxXv0NPYwOsvZbzD
        IfM+YMlumxpIfgXHNQuS2/L+QTbJvzFUK3N5k+ntqFnm+zQ8J/Sjzyu88gNEH0sm
        mPcvAkB2hJrR+DeWab2/RHmvGqhHiB3BBedP21fvec8zDANDVSFkrezx4MGlfGgJ
        YMTy5pP3cMrzq4Yng+ugFr47INmxAkBm2uHfPbAhSGfo9OIFXoeC/l8m6M2OMryB
        CxnJji3jGFpC8wjO/qw7RrYL4OV/2zH5ypNRjpHAUJ2Pzf9CVtgLAkBTbNe1LlP8
        gQxD4PpJDcUbZOKlaadAcvnM5ckQ3sGG9hIPpQqCTleqbRjJqX7yaaGDhuqzFanR
        pePJx6ymfczf
        -----END PRIVATE KEY-----
        """

    /// A key on another curve.
    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDPxuPiAOJL8yBj+18P
        oMvPrJd+fLJ0RQsKi6LruWdsToZ/ptl3/FJUYWP+IlHnO0ShZANiAAQCCrbTjx/1
        ZpKeJM0NgpRrSBAXzReL05jlF+dVx6fPYy1NQmuigdFkEFQ7HL7xKeNmFQy87P8w
        On5CFHZDVdQPXBHL51Gle9VNsHO9C1Byu8J02U+Aj97TrLo6LjrzVmI=
        -----END PRIVATE KEY-----
        """

    /// A key for key agreement, not for signatures.
    static let x25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VuBCIEIHClnUrPCugRc8an2raXr0xmTot4vLVRwJFL7JYfDahw
        -----END PRIVATE KEY-----
        """

    /// A P-256 key that is encrypted with a passphrase.
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhIkpwTJXAzrQICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDabbFRc26PTGYEQ5YZFI8oEgZAG
        +Xfcy+7waub2s4bCDCypLbQ4OpoEKwe+tGblZw4VJpnFtgqGyWNegjKWqCRePYS1
        A/gGJbzEGF8xbGcnamRlvO0+nV5w3MTdQwijTkT/bQhxtHjug8mscDAXZvwp8EdB
        /hSjvvqRJSR0OnGCiDzJEcc9H9/BlsfIm7ZuRbjEwbqfv9BHrJ+3cEss8OWoCik=
        -----END ENCRYPTED PRIVATE KEY-----
        """
}

/// Returns the `CryptographyError` that `body` throws, or `nil` if it throws no error or another one.
func failure<Value>(_ body: () throws -> Value) -> CryptographyError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? CryptographyError
    }
}
