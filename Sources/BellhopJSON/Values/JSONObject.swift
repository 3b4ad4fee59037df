/// An object's members in the order of the source, each key once.
public struct JSONObject: Sendable {
    /// One key with its value.
    public struct Member: Sendable {
        /// The key, unescaped.
        public let key: String
        /// What it stands for.
        public let value: JSONValue

        package init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
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

    /// Finds values by their keys, for whoever looks for many: how long an object is nobody knows.
    package func finder() -> (String) -> JSONValue? {
        guard count > Self.few else { return { self[$0] } }
        let values = Dictionary(
            members.map { (ByteKey(text: $0.key), $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
        return { values[ByteKey(text: $0)] }
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
        withPlacesByKey { places in places.map { members[$0] } }
    }

    /// The places of the members in the order of their keys' UTF-8 bytes, without a copy of any; valid during the call.
    func withPlacesByKey<Result>(_ body: (UnsafeMutableBufferPointer<Int>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: count) { memory in
            var places = memory
            for place in members.indices { places.initializeElement(at: place, to: place) }
            if count > Self.few {
                places.sort { members[$0].key.precedesInBytes(members[$1].key) }
            } else {
                sortFew(places)
            }
            return body(places)
        }
    }

    /// Most objects have a handful of members, and many are in order.
    private func sortFew(_ places: UnsafeMutableBufferPointer<Int>) {
        for next in places.indices.dropFirst() {
            var place = next
            while place > 0, members[places[place]].key.precedesInBytes(members[places[place - 1]].key) {
                places.swapAt(place, place - 1)
                place -= 1
            }
        }
    }

    /// So few are sorted faster one by one.
    private static let few = 16
}

extension String {
    /// Order by UTF-8 bytes, which is also the order by code point.
    fileprivate func precedesInBytes(_ other: String) -> Bool {
        withBytes { ours in
            other.withBytes { theirs in
                for index in 0..<min(ours.count, theirs.count) where ours[index] != theirs[index] {
                    return ours[index] < theirs[index]
                }
                return ours.count < theirs.count
            }
        }
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
