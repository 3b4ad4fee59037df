/// An object's members in the order of the source, each key once.
public struct JSONObject: Sendable {
    /// One key with its value.
    public struct Member: Sendable {
        /// The key, unescaped.
        public let key: String
        /// What it stands for.
        public let value: JSONValue
    }

    /// All members, in order.
    public private(set) var members: [Member]

    /// An object without members.
    public init() {
        members = []
    }

    /// An object of these members; of a repeated key, the last value stays.
    public init(_ pairs: [(String, JSONValue)]) {
        self.init()
        for (key, value) in pairs { self[key] = value }
    }

    /// Takes members whose keys are known to be unique.
    package init(unique members: [Member]) {
        self.members = members
    }

    /// Whether there are no members.
    public var isEmpty: Bool { members.isEmpty }

    /// How many members there are.
    public var count: Int { members.count }

    /// The value of a key; setting nil removes the member, setting a new key appends it.
    ///
    /// Looks through the members one after the other: objects here are small, and most are read once.
    public subscript(key: String) -> JSONValue? {
        get { index(of: key).map { members[$0].value } }
        set {
            switch (index(of: key), newValue) {
            case (let index?, let value?): members[index] = Member(key: key, value: value)
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    private func index(of key: String) -> Int? {
        // By index, and not by element: an element would be retained and released at every step.
        for index in members.indices where members[index].key.hasSameBytes(as: key) { return index }
        return nil
    }
}

extension JSONObject: Equatable {
    /// Whether both have the same keys with equal values, in whatever order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        let ours = left.sortedByKey()
        let theirs = right.sortedByKey()
        return zip(ours, theirs).allSatisfy { $0.key.hasSameBytes(as: $1.key) && $0.value == $1.value }
    }

    /// The members in the order of their keys' UTF-8 bytes.
    func sortedByKey() -> [Member] {
        let isSorted = zip(members, members.dropFirst()).allSatisfy { $0.key.precedesInBytes($1.key) }
        return isSorted ? members : members.sorted { $0.key.precedesInBytes($1.key) }
    }
}

extension String {
    /// Order by UTF-8 bytes, which is also the order by code point.
    fileprivate func precedesInBytes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension JSONObject: Hashable {
    /// Agrees with equality: the order of the members does not count.
    public func hash(into hasher: inout Hasher) {
        for member in sortedByKey() {
            ByteKey(text: member.key).hash(into: &hasher)
            hasher.combine(member.value)
        }
        hasher.combine(count)
    }
}
