import COpenSSL
import Cryptography
import ServiceRuntime

/// A certificate authority with the lifetime of the process.
///
/// Clients trust it by its PEM, and nothing else trusts it.
struct CertificateAuthority: Sendable {
    let certificate: Certificate
    private let key: GeneratedKey

    /// Creates an authority that is valid for a year, starting a day ago because clocks differ.
    init(now: Instant) throws(SandboxError) {
        key = try GeneratedKey.generateP256()
        let blank = try UnsignedCertificate(
            key: key,
            name: "Bellhop sandbox authority",
            validity: now - .seconds(86_400)..<now + .seconds(365 * 86_400)
        )
        try blank.name(issuer: blank.handle)
        try blank.extend(NID_basic_constraints, "critical,CA:TRUE,pathlen:0", issuer: blank.handle)
        try blank.extend(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: blank.handle)
        try blank.extend(NID_subject_key_identifier, "hash", issuer: blank.handle)
        certificate = try blank.signed(by: key)
    }

    /// Issues a server's certificate with a new key.
    func issue(_ order: CertificateRequest) throws(SandboxError) -> TLSIdentity {
        let serverKey = try GeneratedKey.generateP256()
        let blank = try UnsignedCertificate(key: serverKey, name: "Bellhop sandbox", validity: order.validity)
        let issuer = certificate.handle
        try blank.name(issuer: issuer)
        try blank.extend(NID_basic_constraints, "critical,CA:FALSE", issuer: issuer)
        try blank.extend(NID_key_usage, "critical,digitalSignature", issuer: issuer)
        try blank.extend(NID_ext_key_usage, "serverAuth", issuer: issuer)
        try blank.extend(NID_subject_key_identifier, "hash", issuer: issuer)
        try blank.extend(NID_authority_key_identifier, "keyid", issuer: issuer)
        let names = order.names.map(\.notation).joined(separator: ",")
        try blank.extend(NID_subject_alt_name, names, issuer: issuer)
        return TLSIdentity(certificate: try blank.signed(by: key), key: serverKey)
    }
}

/// A certificate that is not signed yet.
private final class UnsignedCertificate {
    private(set) var handle: OpaquePointer?

    init(key: GeneratedKey, name: String, validity: Range<Instant>) throws(SandboxError) {
        handle = X509_new()
        let attempted = Self.attempted
        guard let handle, X509_set_version(handle, 2) == 1, X509_set_pubkey(handle, key.handle) == 1 else {
            throw .openSSL(attempted)
        }
        try setSerial(handle)
        let begin = ASN1_TIME_set(X509_getm_notBefore(handle), Int(validity.lowerBound.microseconds / 1_000_000))
        let end = ASN1_TIME_set(X509_getm_notAfter(handle), Int(validity.upperBound.microseconds / 1_000_000))
        let subject = X509_get_subject_name(handle)
        let text = Array(name.utf8)
        let length = Int32(clamping: text.count)
        let added = X509_NAME_add_entry_by_txt(subject, "CN", bellhop_utf8_text, text, length, -1, 0)
        guard begin != nil, end != nil, added == 1 else { throw .openSSL(attempted) }
    }

    deinit { X509_free(handle) }

    func name(issuer: OpaquePointer?) throws(SandboxError) {
        guard X509_set_issuer_name(handle, X509_get_subject_name(issuer)) == 1 else { throw .openSSL(Self.attempted) }
    }

    func extend(_ kind: Int32, _ value: String, issuer: OpaquePointer?) throws(SandboxError) {
        guard bellhop_add_extension(issuer, handle, kind, value) == 1 else { throw .openSSL(Self.attempted) }
    }

    /// Signs the certificate and returns it.
    ///
    /// The blank is empty afterwards.
    func signed(by key: GeneratedKey) throws(SandboxError) -> Certificate {
        guard let signed = handle, X509_sign(signed, key.handle, EVP_sha256()) > 0 else {
            throw .openSSL(Self.attempted)
        }
        handle = nil
        return Certificate(owning: signed)
    }

    /// Sets 16 random bytes.
    ///
    /// The first bit is clear because a serial number is not negative.
    private func setSerial(_ handle: OpaquePointer) throws(SandboxError) {
        var bytes: [UInt8]
        do { bytes = try SecureRandom.bytes(16) } catch {
            throw SandboxError(.cryptography, attempted: Self.attempted, cameBack: error.text)
        }
        bytes[0] &= 0x7F
        let number = BN_bin2bn(bytes, 16, nil)
        defer { BN_free(number) }
        guard let number, BN_to_ASN1_INTEGER(number, X509_get_serialNumber(handle)) != nil else {
            throw .openSSL(Self.attempted)
        }
    }

    private static let attempted = "making a certificate"
}

/// The contents of a server's certificate.
///
/// A wrong certificate (for another host, or expired) is ordered in the same way as a correct one.
struct CertificateRequest: Sendable {
    enum Name: Sendable, Hashable {
        case host(String)
        /// An address in its usual text form.
        case address(String)

        /// Treats every text that is not an address as a host.
        init(_ text: String) {
            let isAddress = text.contains(":") || text.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
            self = isAddress ? .address(text) : .host(text)
        }

        /// The name in OpenSSL's notation of alternative names.
        var notation: String {
            switch self {
            case .host(let host): "DNS:\(host)"
            case .address(let address): "IP:\(address)"
            }
        }
    }

    var names: [Name]
    var validity: Range<Instant>

    /// The names by which clients on this machine reach the sandbox, and those of the emulated services.
    ///
    /// With the latter, a client may be configured to resolve the real names to the sandbox.
    static let usualNames: [Name] = [
        .host("localhost"), .address("127.0.0.1"), .address("::1"),
        .host("fcm.googleapis.com"), .host("oauth2.googleapis.com"),
        .host("api.push.apple.com"), .host("api.sandbox.push.apple.com"), .host("exp.host"),
        .host("updates.push.services.mozilla.com"), .host("web.push.apple.com"),
    ]
}
