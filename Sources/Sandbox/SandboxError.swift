import HTTPServer
import ServiceRuntime

/// The reason why the sandbox, or a part of it, could not start.
package struct SandboxError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// Another process already listens at the address.
        case addressTaken
        /// The host does not resolve, does not belong to this machine, or the port requires more privileges.
        case addressUnusable
        /// The system has no sockets, memory or threads left.
        case resources
        /// OpenSSL could not create or use a key or a certificate.
        case cryptography
        /// A file that other programs wait for could not be written.
        case fileUnwritable
    }

    package let code: Code
    package let attempted: String
    /// The message of the system or of OpenSSL; never key material.
    package let cameBack: String

    package init(_ code: Code, attempted: String, cameBack: String) {
        self.code = code
        self.attempted = attempted
        self.cameBack = cameBack
    }

    package var advice: String {
        switch code {
        case .addressTaken: "stop what listens there, or choose another port (0 takes any that is free)"
        case .addressUnusable: "choose a host of this machine and a port that may be used"
        case .resources: "raise the limits of open files and threads"
        case .cryptography: "check the installation of OpenSSL 3"
        case .fileUnwritable: "choose a path in a folder that exists and may be written to"
        }
    }

    package var description: String { "\(attempted): \(cameBack); \(advice)" }
}

extension ListeningSocket {
    /// Opens a socket and reports failures as errors of the sandbox.
    static func listen(on address: ListenAddress) throws(SandboxError) -> ListeningSocket {
        do throws(HTTPServerError) {
            return try open(address)
        } catch {
            throw SandboxError(error)
        }
    }
}

extension SandboxError {
    /// Converts the error of a server that could not start.
    init(_ error: HTTPServerError) {
        let code: Code =
            switch error.code {
            case .addressTaken: .addressTaken
            case .addressUnusable: .addressUnusable
            case .resources: .resources
            }
        self.init(code, attempted: "listening on \(error.address)", cameBack: error.cameBack)
    }
}
