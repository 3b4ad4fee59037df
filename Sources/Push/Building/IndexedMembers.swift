import BellhopRules

/// An object in which many names are looked for: it searches its members one by one, and an event may bring ten thousand, of
/// which each asks for another.
///
/// The index is made when it pays, which for what events usually bring is never.
struct IndexedMembers {
    /// So few are searched faster than hashed.
    private static let few = 16

    private let object: JSONObject
    /// By the bytes of the names: two spellings of an accented letter are two names.
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
