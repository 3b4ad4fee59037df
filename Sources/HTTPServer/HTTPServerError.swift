package import ServiceRuntime

/// Why a server could not start.
package struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What went wrong.
    package enum Code: Sendable, Equatable {
        /// Someone listens there already.
        case addressTaken
        /// The host does not resolve, is not of this machine, or the port needs more rights.
        case addressUnusable
        /// The system has no sockets, memory or threads left.
        case resources
    }

    package let code: Code
    package let address: ListenAddress
    /// In the system's words.
    package let cameBack: String

    package var description: String {
        "listening on \(address): \(cameBack); \(advice)"
    }

    package var advice: String {
        switch code {
        case .addressTaken: "stop what listens there, or choose another port (0 takes any that is free)"
        case .addressUnusable: "choose a host of this machine and a port that may be used"
        case .resources: "raise the limits of open files and threads"
        }
    }
}
