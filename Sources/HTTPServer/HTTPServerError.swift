package import ServiceRuntime

/// The reason why a server could not start.
package struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: Sendable, Equatable {
        /// Another process already listens at the address.
        case addressTaken
        /// The host does not resolve, does not belong to this machine, or the port requires more privileges.
        case addressUnusable
        /// The system has no sockets, memory or threads left.
        case resources
    }

    package let code: Code
    package let address: ListenAddress
    /// The system's error text.
    package let cameBack: String

    package var description: String { "listening on \(address): \(cameBack); \(advice)" }

    package var advice: String {
        switch code {
        case .addressTaken: "stop what listens there, or choose another port (0 takes any that is free)"
        case .addressUnusable: "choose a host of this machine and a port that may be used"
        case .resources: "raise the limits of open files and threads"
        }
    }
}
