import COpenSSL

/// A JSON Web Token whose signature has been verified (RFC 7519 in the compact form of RFC 7515).
///
/// Header and claims are the signed JSON. The caller must check the claims (time, audience, issuer).
package struct JSONWebToken: Hashable, Sendable {
    /// The signature algorithm of a token, which the verifier chooses; the token's header has no influence.
    package enum Algorithm: String, CaseIterable, Hashable, Sendable {
        /// RSA, PKCS #1 v1.5, SHA-256.
        case rs256 = "RS256"
        /// P-256, SHA-256, 64 bytes of signature.
        case es256 = "ES256"
        /// Ed25519, 64 bytes of signature (RFC 8037).
        case edDSA = "EdDSA"

        var keyKind: KeyKind {
            switch self {
            case .rs256: .rsa
            case .es256: .p256
            case .edDSA: .ed25519
            }
        }
    }

    package let header: [UInt8]
    package let claims: [UInt8]

    /// Returns `nil` unless `token` has three parts and a signature of `key` under `algorithm`.
    ///
    /// A key of another kind matches no token. Base64 in a non-canonical spelling is rejected, and so is padding (RFC
    /// 7515 2), so that a token has one spelling.
    package init?(verifying token: String, algorithm: Algorithm, key: PublicKey) {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard key.kind == algorithm.keyKind, parts.count == 3, !token.utf8.contains(UInt8(ascii: "=")) else {
            return nil
        }
        let decoded = parts.compactMap { Base64URL.decode(String(Substring($0))) }
        guard decoded.count == 3 else { return nil }
        let signed = Array(token.utf8[..<parts[1].endIndex])
        guard let signature = algorithm.opened(decoded[2]), key.accepts(signature, of: signed) else { return nil }
        header = decoded[0]
        claims = decoded[1]
    }

    /// Signs `header` and `claims`, two JSON objects; verifiers accept the token only if the header names the same
    /// algorithm.
    package static func sign(
        header: [UInt8],
        claims: [UInt8],
        algorithm: Algorithm,
        key: PrivateKey
    ) throws(CryptographyError) -> String {
        guard key.kind == algorithm.keyKind else {
            throw CryptographyError(
                .signing,
                "a token cannot be signed with \(algorithm.rawValue) and a key of another kind: use the key made for it"
            )
        }
        let input = Base64URL.encode(header) + "." + Base64URL.encode(claims)
        let signature = try key.signature(of: Array(input.utf8))
        guard let sealed = algorithm.sealed(signature) else {
            throw CryptographyError(.signing, "OpenSSL's signature has an unknown form (\(OpenSSLErrors.drain()))")
        }
        return input + "." + Base64URL.encode(sealed)
    }
}

extension JSONWebToken.Algorithm {
    /// Converts OpenSSL's signature into that of a token.
    fileprivate func sealed(_ signature: [UInt8]) -> [UInt8]? {
        self == .es256 ? JOSESignature.fromDER(signature) : signature
    }

    /// Converts a token's signature into OpenSSL's form.
    fileprivate func opened(_ signature: [UInt8]) -> [UInt8]? {
        self == .es256 ? JOSESignature.toDER(signature) : signature
    }
}

/// Converts P-256 signatures between OpenSSL's DER and JOSE's 64 bytes (RFC 7518 §3.4): `r` and `s`, 32 bytes each.
enum JOSESignature {
    private static let numberSize: CInt = 32

    /// Returns both numbers padded to their full width, because about one signature in 128 has a shorter number.
    static func fromDER(_ der: [UInt8]) -> [UInt8]? {
        let signature = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &position, bytes.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        guard let r = number(ECDSA_SIG_get0_r(signature)), let s = number(ECDSA_SIG_get0_s(signature)) else {
            return nil
        }
        return r + s
    }

    /// Returns `nil` unless the signature has 64 bytes.
    static func toDER(_ raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * Int(numberSize) else { return nil }
        return DER.sequence(DER.unsignedInteger(Array(raw[..<32])) + DER.unsignedInteger(Array(raw[32...])))
    }

    private static func number(_ number: OpaquePointer?) -> [UInt8]? {
        guard let number else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(numberSize))
        return BN_bn2binpad(number, &bytes, numberSize) == numberSize ? bytes : nil
    }
}
