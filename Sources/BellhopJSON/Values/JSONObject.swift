/// An object's members in the order of the source, with unique keys.
public struct JSONObject: Sendable {
    /// One key with its value.
    public struct Member: Sendable {
        /// The key, unescaped.
        public let key: String
        /// The value of the key.
        public let value: JSONValue

        package init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// All members, in order.
    public private(set) var members: [Member]

    /// Creates an object without members.
    public init() { members = [] }

    /// Creates an object from pairs; the last value of a repeated key is used.
    public init(_ pairs: [(String, JSONValue)]) {
        self.init()
        for (key, value) in pairs { self[key] = value }
    }

    /// Creates an object from members whose keys are known to be unique.
    package init(unique members: [Member]) { self.members = members }

    /// Whether there are no members.
    public var isEmpty: Bool { members.isEmpty }

    /// The number of members.
    public var count: Int { members.count }

    /// The value of a key.
    ///
    /// Setting `nil` removes the member; setting a new key appends it.
    ///
    /// The search is linear, because objects here are small and most are read only once.
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

    /// Returns a function that finds values by key, for callers with many lookups.
    ///
    /// Objects with many members get a hash table, because the size of an object is not known in advance.
    package func finder() -> (String) -> JSONValue? {
        guard count > Self.few else { return { self[$0] } }
        let values = Dictionary(
            members.map { (ByteKey(text: $0.key), $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
        return { values[ByteKey(text: $0)] }
    }

    private func index(of key: String) -> Int? {
        // The loop uses indices, because a loop over elements would retain and release each element.
        for index in members.indices where members[index].key.hasSameBytes(as: key) { return index }
        return nil
    }
}

extension JSONObject: Equatable {
    /// Returns whether both objects have the same keys with equal values, in any order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        let ours = left.sortedByKey()
        let theirs = right.sortedByKey()
        return zip(ours, theirs).allSatisfy { $0.key.hasSameBytes(as: $1.key) && $0.value == $1.value }
    }

    /// Returns the members in the order of their keys' UTF-8 bytes.
    func sortedByKey() -> [Member] { withPlacesByKey { places in places.map { members[$0] } } }

    /// Runs `body` on the indices of the members in the order of their keys' UTF-8 bytes.
    ///
    /// No member is copied. The buffer is valid only during the call.
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

    /// Sorts by insertion, because most objects have few members and many are already in order.
    private func sortFew(_ places: UnsafeMutableBufferPointer<Int>) {
        for next in places.indices.dropFirst() {
            var place = next
            while place > 0, members[places[place]].key.precedesInBytes(members[places[place - 1]].key) {
                places.swapAt(place, place - 1)
                place -= 1
            }
        }
    }

    /// The number of members up to which insertion sort and linear search are faster.
    private static let few = 16
}

extension String {
    /// Returns whether the string precedes another in the order of UTF-8 bytes, which equals the order of code points.
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
    /// Hashes consistently with equality: the order of the members does not matter.
    public func hash(into hasher: inout Hasher) {
        for member in sortedByKey() {
            ByteKey(text: member.key).hash(into: &hasher)
            hasher.combine(member.value)
        }
        hasher.combine(count)
    }
}

/// The members of an object during reading, with a check for repeated keys.
///
/// A few keys are compared directly and many are hashed. The hash uses the seed of the process, so that an attacker
/// cannot prepare collisions.
struct UniqueMembers {
    private static let few = 16
    private(set) var members: [JSONObject.Member] = []
    private var seen: Set<ByteKey> = []

    init(expecting capacity: Int) { members.reserveCapacity(capacity) }

    /// Appends a member; returns false if the key is already present.
    mutating func append(_ key: String, _ value: JSONValue) -> Bool {
        if members.count < Self.few {
            for index in members.indices where members[index].key.hasSameBytes(as: key) { return false }
        } else {
            if seen.isEmpty { seen = Set(members.map { ByteKey(text: $0.key) }) }
            guard seen.insert(ByteKey(text: key)).inserted else { return false }
        }
        members.append(JSONObject.Member(key: key, value: value))
        return true
    }
}

/// Returns whether two buffers of equal length have the same content, compared eight bytes at a time.
@usableFromInline
package func haveSameBytes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    let (ours, theirs) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
    var index = 0
    while index + 8 <= ours.count {
        let word = ours.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        guard word == theirs.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
        index += 8
    }
    while index < ours.count {
        guard ours[index] == theirs[index] else { return false }
        index += 1
    }
    return true
}

extension StringProtocol {
    /// Returns whether both strings have the same UTF-8 bytes.
    ///
    /// Swift's `==` treats canonically equivalent strings as equal. A database does not, so identifiers and keys must
    /// not.
    @inlinable
    @inline(__always)
    package func hasSameBytes(as other: some StringProtocol) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withBytes { ours in
            other.withBytes { theirs in haveSameBytes(ours, theirs) }
        }
    }

    /// Runs `body` on the UTF-8 bytes of the string.
    @inlinable
    @inline(__always)
    package func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return withCopiedBytes(body)
    }

    /// Does the same for a string whose bytes are not contiguous.
    ///
    /// It is a call, because its copy of the string would otherwise retain the string in every use of ``withBytes(_:)``.
    @inline(never)
    @usableFromInline
    package func withCopiedBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        Array(utf8).withUnsafeBufferPointer(body)
    }
}

/// A key that is compared and hashed by its bytes.
struct ByteKey: Hashable {
    let text: String

    static func == (left: ByteKey, right: ByteKey) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
