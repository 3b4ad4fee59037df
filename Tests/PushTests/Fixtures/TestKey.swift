import Push
import Testing

/// Keys made for these tests; they protect nothing.
enum TestKey {
    /// An RSA key with 2,048 bits.
    static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCne320dqy8PblO
        G9LNHMfLILfKcxPHlt4CztUGIWS848bx/eJKhLK9f6wGhQ1mTZxA5068WIk9kC0N
        e7pcoT95/SYs2/p9d1JhU9kWn11ToMYiujmv1ESV0vO/V6iCkLhWAnkLYI6P3bke
        9ctQbEKm9BA4oqiFBMrLr9duvg4OEYRbvdJThFZ0B5lniIZJYiK8JgTgymE1wxs0
        3AzX4dfi7ysv6GYaRhSDh4oXirirY5HuT/ZZePaT5LEawA4WfFY86SIYh8Fb0hYj
        odoDuT9qCOvjQfUdCKFWIn8l4d7fXJ7rz9kRBmu7uVfToFRIEUuN7VtCzNNCUF/q
        38aZsP5nAgMBAAECggEAPalNHCJvMTTmYvgCcerNMh9/GyWoHB0S6uS8cC/eN18D
        EXggFsBpUDRPoOzehJJBW3HtvpE4IfbRZ3vsnortZFvL8Msim4vRRC0LKXWN9iqk
        mAeJEo+rmp+ahxFeZIeknmH1r7cidZwzuk7TRm49Udtcl4VnVuXvRfOc9NQ7N3kp
        l60YxCr0dksEUW3q5ODY8cIEAnVghLqbRBcPiK+x+DuayB4rd0u4DBL2v4eU9BYz
        WI8IhUr0EJN/aBS+5f3Ncy8jwUE7FFDRbUPdk+0dQVqnsiPEUiDfupyA2PcpiVlZ
        WhAZkdK3S4hyVbKPN2aiSFX2Cr+YhFU2EL8qtOtERQKBgQDgHn9QPN63UCvXLyEb
        r/vmR7ElmBWtJnTpU8d8krMq8hl63x/4RaeQ/CgZ/8UlSzI5AevxTfxo5mGapa5M
        jselR7Af0WMnEnikBy/UvzK4IE+ROm/aEW4zBsj96bzB9n2E1PFnrJzu1a2uxRWH
        /SGn8PA+cF0lz2RNOk3vPUxVNQKBgQC/ToPYHZ7fVRf9Wt4bADuc6HRdiqcUnnaE
        hcuAs/Ua0+1oK+SY6YjZoUgu1OkF/gX9qk2cYAlqr6eTQUPd1wn2m0FkLnbv3B86
        FF5BjhuvbOhD3ckZKcaPDrTjUswC5OeVFcbQOVabPCBG2FkfojLO5X/NAy6JFZnI
        tSaTeQpEqwKBgQDRi1In2DG4HUpQMC15cKpJ3YAAkVi7ArjOq1lZ3OON5Lv0CQgg
        HigUw95OqLhQLSVw7Z4HiI3WGojpib0UsW5y1zsSFLjrADcxzdJnzLiENRmPxJ5t
        ulxZcx+bX93vUCJ9foeTEm3MVJbGUFjYQ9Ei74AAMRi2UFkMZ9YUODDVfQKBgH5O
        E0QrgkoHP3h5duyywaj93F4p/dfiK3OhdlN5/NiClVrSp/HBNiYhkqvAzDy1kzUA
        LI+S5IS4hlX1oB4mLKDRrmG7P7FrTn6lFfoIHgU7TToJgw0HBN5Momb3slQy1yca
        IpI1WRXSo6jCjE0TZKIu6arsb9v4E/lsiJSTNJFTAoGASpF4m7824v4dj0ltFcSJ
        ms2H0f7J3nihvfSBfcHkxpbn+WLnvPBC1ZzAQQN5nVdt8YpuMRIjiIB7WSRquura
        vLRCxSQ47b+ocPbZF2nGhCPFMiBbV2/qpMTITDuYHHwfSYetg1cW5yS8ugYcbZIG
        9/TCTJGhWedcESLFJOxj9zI=
        -----END PRIVATE KEY-----
        """

    /// A P-256 key, which Google's token endpoint does not accept.
    static let ellipticPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBOGRAZExTItade6s
        W8ldobEXYKQz2OK9QK/ZUfOCVe6hRANCAAQ9jfP50Xne9auKVASt4iVaqkR7kneG
        CX9r2r+7r4/Q2xkx8jzGTjeHZf8INOIYrR+EoHzv9DTxnePip/rctyu1
        -----END PRIVATE KEY-----
        """

    /// Returns the same key as a team's key for APNs.
    static func apple() throws -> APNsKey {
        let key = try APNsKey(teamID: "TEAM123456", keyID: "KEY1234567", p8: Array(ellipticPEM.utf8))
        return try #require(key)
    }

    /// Another P-256 key.
    static let otherPEM = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC0Rp1k/SvXPdN3
        F6h1Qcsf6F8FvctZJkzR5XriuoPWuBilSY+LKCcodSnh135nYXVGSkUMlmXYNf98
        4boDaP4IPJk9qqxmkjlwjGH6zgjH8+G/dQvsytYffE9HZa8PQkemaCrs2YKSpTlZ
        jn5A8nrZoLlAiICQkBS1JrkvS+PqKRjO/pPyMIGFDibD92u13pP9CX2CaNipJDGb
        2Zwx0OlnB9le1fQNYC7Um+k3pSjUU9jIXeUfyZZk+rhzHTGdOMbj2X7btWVbTPJJ
        RKFMVqCelcE6rvRon36RkfS9MZVAlNIbAVwIuNj1Xl42wp6AgQZW8b/OUIFMtoAG
        rmj0AIh7AgMBAAECggEANUqorZlv09WphQuf12XnM5wANxTHn6eETwos/QhQ//D1
        DCuGPQdWKA4WnvYSnmH/hpNe/R0ap0MzLwoVcHuhmPK9BC9HfpzcUQqWzksI6n8M
        bYoex9WgXbdkQkFrcjHQN3+UrOaRxGMGZJSMewuTSHFMQij4BIQrMu/rD3G6QtZ6
        /oM3t6fq7RDWc+1whj7hxzo7GkBFc9oU9WlchW1rIgj7mUcrF7VHTPpTx+opiXmL
        ERWdyhDipv8wFACwaKhymKwROP1poh2A+0ssvGLG4HqHzJp/WTgyRR1ziXZPxMQL
        VqA/GF5Z9j84tD3z9yEkcJil9NBjmaangnzfw7DVqQKBgQDleMkcRcW6ZF/CaBJV
        VBonoANc7b2We8zBCQhvs0bvTAgYgzjMTYKx/YEHjmmN+JlN4M9eaek6bzmhvOO/
        kgd8fSRBUyviytgArX2zgsCLIi6CaEyyQPRXTkqKVpjbqJCDfzlnhcF3XSKYJ115
        uygBPJgAZ1717eNY4ckYp4C+0wKBgQDJHeAF77GrYp8wbLsYHfl2s6rjKaNJrlXg
        W1c+QbCMMVDaIEUZcL+eEeRe4TAdtRjB4R6ADgmTweDkxhxRCZABM3m011R7HHuk
        V7470/335YclkXdr0MsDJSDjb1ONuqqM0vRnYqVRgWJaNWPA4Q5QZ+v45yxrkhCn
        rkM91N2WuQKBgQDXptmpflDCSI5NzyxbkHw7/P7sGGjxwUq9ptWM0/i37sY08y0v
        ozBOQaU/CrFcQOMh80Iuwm3zApAw1albYcszTRADbDx0GJlCmcjmKNz2ZJs85vQd
        GToHyoX22EczN4kIa0nxZhxZJufaAjSwsBh6gQ2AY6U0jen4n8gzKUevDQKBgGlC
        3qacvpPiCUlyDzZfMdsDzFQazeDZgw7rH61w+jNV+GhB7YiUL2ZPHQTfvaw+xZdr
        +Oey8SZJmiiC2/06EQnf5DpXXVsWHEx2tBViLhGaK3LpQOTIIgkiXKVM9iE+6tbL
        7qlRww72tgBa4zvnTvOcgLAEZoZiq57noT/ycovZAoGBALpwukCuw7FX72f0FBWB
        oMFPpSqDN9x1d0jC+eHS5NahCLM1GUr7N4pBDTAaW2bt4qVCh1UpIESfTnWM2VuT
        4a4OU5dzQ3hoH1BHyRGEfo52C+BYwdCqjUEcSQp0ZPaQKQxqsJXlGBR/j+vDfl7W
        A1r5QpwdAcTpsOjYE5/3l8qn
        -----END PRIVATE KEY-----

        """
}
