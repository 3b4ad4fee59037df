import Glibc
import ServiceRuntime

/// Turns hosts into addresses.
enum NameLookup {
    enum Answer: Sendable {
        /// In the resolver's order, never empty.
        case found([SocketAddress])
        /// In the resolver's words.
        case failed(String)
    }

    /// The address where the host is one already; nil where it is a name.
    static func literal(_ destination: Destination) -> Answer? {
        guard case .found(let addresses) = resolve(destination, AI_NUMERICHOST) else { return nil }
        return .found(addresses)
    }

    /// Asks the resolver, which blocks for as long as it likes.
    static func ask(_ destination: Destination) -> Answer {
        resolve(destination, AI_ADDRCONFIG)
    }

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

/// The look-ups of a loop that are under way, each on a thread of its own.
///
/// Confined to the loop's thread. A resolver that hangs holds a thread for each of a few names and no more: one name is
/// not asked for twice at a time, and what exceeds the bound waits.
final class NameLookups {
    private static let most = 8

    private let inbox: TransferInbox
    private var running: Set<Destination> = []

    /// The answers go to `inbox`.
    init(_ inbox: TransferInbox) {
        self.inbox = inbox
    }

    /// Makes sure that the name is asked for, or will be the next time.
    func begin(_ destination: Destination) {
        guard running.count < Self.most, running.insert(destination).inserted else { return }
        NativeThread.start(named: "name-lookup") { [inbox] in
            inbox.post(.lookedUp(destination, NameLookup.ask(destination)))
        }
    }

    /// The answer has come.
    func end(_ destination: Destination) {
        running.remove(destination)
    }
}
