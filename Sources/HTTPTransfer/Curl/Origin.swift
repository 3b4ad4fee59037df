/// One scheme, host and port, with the requests that wait for it.
///
/// Confined to the loop's thread.
final class Origin {
    /// The beginning of its URLs, up to the path.
    let prefix: String

    var gate: OriginGate
    private var tickets: [TransferTicket] = []

    /// Tickets in front of it have been taken.
    private var head = 0

    init(prefix: String, gate: OriginGate) {
        self.prefix = prefix
        self.gate = gate
    }

    var isEmpty: Bool { head == tickets.count }

    func append(_ ticket: TransferTicket) {
        tickets.append(ticket)
    }

    /// The next ticket, if there is one and the gate lets it through.
    func next(now: ContinuousClock.Instant) -> TransferTicket? {
        guard !isEmpty, let admission = gate.admit(now: now) else { return nil }
        var ticket = tickets[head]
        ticket.admission = admission
        head += 1
        if head == tickets.count || head > 1024 {
            tickets.removeFirst(head)
            head = 0
        }
        return ticket
    }

    /// Takes out the waiting tickets of one batch, or of all.
    func remove(where isMeant: (TransferBatch) -> Bool) -> [TransferTicket] {
        let waiting = tickets[head...]
        let removed = waiting.filter { isMeant($0.batch) }
        tickets = waiting.filter { !isMeant($0.batch) }
        head = 0
        return removed
    }

    /// Whether `url` belongs here.
    func owns(_ url: String) -> Bool {
        let url = url.utf8
        let prefix = prefix.utf8
        guard url.starts(with: prefix) else { return false }
        let next = url.dropFirst(prefix.count).first
        return next.map(Self.endsAuthority) ?? true
    }

    /// The part of `url` that makes its origin; empty for what is no absolute URL.
    static func prefix(of url: String) -> String {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return ""
        }
        let authority = bytes[colon...].dropFirst(3)
        let end = authority.firstIndex(where: endsAuthority) ?? bytes.endIndex
        return String(url[..<end])
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}

/// One request of a batch on its way through a loop.
struct TransferTicket {
    let batch: TransferBatch
    let index: Int
    let origin: Origin

    /// What the origin's gate gave it when it started.
    var admission = OriginGate.Admission.ordinary

    var request: TransferRequest { batch.requests[index] }
}
