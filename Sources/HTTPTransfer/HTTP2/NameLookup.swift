import Glibc
import ServiceRuntime

/// Resolves hosts to addresses.
enum NameLookup {
    enum Answer: Sendable {
        /// The addresses in the resolver's order, never empty.
        case found([SocketAddress])
        /// The resolver's error text.
        case failed(String)
    }

    /// Returns the address if the host is one; `nil` if it is a name.
    static func literal(_ destination: Destination) -> Answer? {
        guard case .found(let addresses) = resolve(destination, AI_NUMERICHOST) else { return nil }
        return .found(addresses)
    }

    /// Queries the resolver, which blocks for an unlimited time.
    static func ask(_ destination: Destination) -> Answer { resolve(destination, AI_ADDRCONFIG) }

    private static func resolve(_ destination: Destination, _ flags: CInt) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_protocol = CInt(IPPROTO_TCP)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(destination.host, String(destination.port), &hints, &list)
        guard code == 0 else { return .failed(gai_strerror(code).map { String(cString: $0) } ?? "no address") }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let current = entry {
            SocketAddress(current.pointee).map { addresses.append($0) }
            entry = current.pointee.ai_next
        }
        return addresses.isEmpty ? .failed("no address") : .found(addresses)
    }
}

/// The active look-ups of a loop, each on a dedicated thread.
///
/// Confined to the loop's thread. A hanging resolver blocks at most eight threads: a name has at most one look-up at a
/// time, and further look-ups wait.
final class NameLookups {
    private static let most = 8

    private let inbox: TransferInbox
    private var running: Set<Destination> = []

    /// Creates the list; the answers go to `inbox`.
    init(_ inbox: TransferInbox) { self.inbox = inbox }

    /// Starts a look-up of the name, unless one is active or the bound is reached; in the latter case a later call
    /// starts it.
    func begin(_ destination: Destination) {
        guard running.count < Self.most, running.insert(destination).inserted else { return }
        NativeThread.start(named: "name-lookup") { [inbox] in
            inbox.post(.lookedUp(destination, NameLookup.ask(destination)))
        }
    }

    /// Removes a finished look-up.
    func end(_ destination: Destination) { running.remove(destination) }
}
