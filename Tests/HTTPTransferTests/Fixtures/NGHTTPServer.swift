import Foundation
import HTTPTransfer

/// The program nghttpd with TLS on loopback.
///
/// It answers a POST with the received body.
final class NGHTTPServer: Sendable {
    static var isAvailable: Bool { TestProgram.find("nghttpd") != nil && TestCertificate.isAvailable }

    let port: UInt16
    let certificate: TestCertificate
    private let process: TestProgram

    /// Starts the server and waits until it accepts connections.
    init(_ arguments: [String] = ["--echo-upload"]) async throws {
        let certificate = try TestCertificate()
        try Data("hello".utf8).write(to: certificate.folder.appendingPathComponent("small"))
        (process, port) = try await TestProgram.serving("nghttpd") { port in
            arguments + [
                "-a", "127.0.0.1", "-d", certificate.folder.path, "\(port)", certificate.keyFile,
                certificate.certificateFile,
            ]
        }
        self.certificate = certificate
    }

    func url(_ path: String = "/", host: String = "localhost") -> String { "https://\(host):\(port)\(path)" }
}
