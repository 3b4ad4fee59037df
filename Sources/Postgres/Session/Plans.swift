/// The prepared statements of one session.
struct Plans {
    struct Plan {
        let name: String
        /// The types that the server inferred for `$1`, `$2`, ….
        let parameters: [ServerType]
    }

    private var plans: [Statement: Plan] = [:]
    private var lastNumber = 0

    /// The maximum number of plans, which is more than any program declares.
    ///
    /// A program that creates texts at run time must not fill the server's memory.
    static let limit = 512

    var isFull: Bool { plans.count >= Self.limit }

    subscript(statement: Statement) -> Plan? { plans[statement] }

    /// Returns a name that is new in this session, because a forgotten plan keeps its name until the session ends.
    mutating func newName() -> String {
        lastNumber += 1
        return "b\(lastNumber)"
    }

    mutating func keep(_ plan: Plan, for statement: Statement) {
        plans[statement] = plan
    }

    /// Removes a plan that the server no longer has, or whose results a migration has changed.
    mutating func forget(_ statement: Statement) {
        plans[statement] = nil
    }

    mutating func forgetAll() {
        plans.removeAll()
    }
}
