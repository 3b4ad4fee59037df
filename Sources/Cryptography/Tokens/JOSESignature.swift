import COpenSSL

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
