/// An app's keys by their names.
package struct VAPIDKeys: Sendable {
    /// Never empty, each name once.
    package let all: [VAPIDKey]

    /// The key of subscriptions that name none.
    package let usual: VAPIDKey

    /// Takes the keys, of which `usual` is one.
    package init(_ all: [VAPIDKey], usual: VAPIDKey) {
        self.all = all
        self.usual = usual
    }

    /// The key that a subscription was made with; nil for a name that nobody knows.
    package func key(named id: String?) -> VAPIDKey? {
        guard let id else { return usual }
        return all.first { $0.id == id }
    }
}
