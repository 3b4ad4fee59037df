import Foundation

/// A self-signed certificate for `localhost`, unless other names are given.
///
/// Its folder is deleted with the object.
final class TestCertificate: Sendable {
    struct Failure: Error {
        let status: Int32
    }

    let folder: URL
    var certificateFile: String { folder.appendingPathComponent("certificate.pem").path }
    var keyFile: String { folder.appendingPathComponent("key.pem").path }

    static var isAvailable: Bool { TestProgram.find("openssl") != nil }

    /// The certificate as PEM.
    func certificate() throws -> String { try String(contentsOfFile: certificateFile, encoding: .utf8) }

    /// The private key as PEM.
    func key() throws -> String { try String(contentsOfFile: keyFile, encoding: .utf8) }

    /// Makes a certificate.
    ///
    /// `names` has OpenSSL's notation.
    init(names: String = "DNS:localhost") throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let openssl = try TestProgram(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=\(names)",
                "-keyout", keyFile, "-out", certificateFile,
            ]
        )
        let status = openssl.waitUntilExit()
        guard status == 0 else { throw Failure(status: status) }
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }
}
