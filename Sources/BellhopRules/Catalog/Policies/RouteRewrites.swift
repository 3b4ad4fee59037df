/// Routes that producers still send and clients no longer know, each with the one that took its place.
public struct RouteRewrites: Hashable, Sendable {
    struct Rewrite: Hashable {
        let old: String
        let new: String
    }

    /// The longest first, so that the most particular one decides.
    private let rewrites: [Rewrite]

    init(_ rewrites: [Rewrite]) {
        self.rewrites = rewrites.sorted { $0.old.utf8.count > $1.old.utf8.count }
    }

    /// The route that took this one's place, and the catalogue's name of the one that was led on; nil where it stays.
    ///
    /// A rewrite applies to the path itself and to what lies below it, and leaves the rest as it is:
    /// `/schema/7?tab=1` becomes `/schedule/7?tab=1`; `/schemata` stays. None is applied to the outcome of another.
    public func rewritten(_ route: String) -> (route: String, old: String)? {
        for rewrite in rewrites {
            guard route.utf8.starts(with: rewrite.old.utf8) else { continue }
            let rest = route.utf8.dropFirst(rewrite.old.utf8.count)
            guard rest.first.map("/?#".utf8.contains) ?? true else { continue }
            return (rewrite.new + String(decoding: rest, as: UTF8.self), rewrite.old)
        }
        return nil
    }
}
