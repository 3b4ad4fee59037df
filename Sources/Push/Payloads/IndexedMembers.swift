import BellhopRules

/// An object for many lookups by name.
///
/// Its members are otherwise searched linearly, and an event may have ten thousand members, each of which needs a
/// lookup.
///
/// The index is created only if it is worthwhile, which is not the case for usual events.
struct IndexedMembers {
    /// The number of members up to which a search is faster than hashing.
    private static let few = 16

    private let object: JSONObject
    /// The index by the bytes of the names: two encodings of an accented letter are two names.
    private var places: [[UInt8]: Int]?

    init(_ object: JSONObject) {
        self.object = object
    }

    subscript(name: String) -> JSONValue? {
        mutating get {
            guard object.count > Self.few else { return object[name] }
            let places = places ?? index()
            self.places = places
            return places[Array(name.utf8)].map { object.members[$0].value }
        }
    }

    private func index() -> [[UInt8]: Int] {
        let names = object.members.enumerated().map { (Array($1.key.utf8), $0) }
        return Dictionary(names, uniquingKeysWith: { first, _ in first })
    }
}
