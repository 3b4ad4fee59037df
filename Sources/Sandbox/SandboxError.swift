/// Why the sandbox, or a part of it, could not start.
package struct SandboxError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// Someone listens there already.
        case addressTaken
        /// The host does not resolve, is not of this machine, or the port needs more rights.
        case addressUnusable
        /// The system has no sockets, memory or threads left.
        case resources
        /// OpenSSL could not make or use a key or a certificate.
        case cryptography
        /// A file that others wait for could not be written.
        case fileUnwritable
    }

    package let code: Code
    package let attempted: String
    /// In the words of the system or of OpenSSL; never key material.
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
