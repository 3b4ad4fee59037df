/// Routes that producers still send and clients no longer support, each with its replacement.
public struct RouteRewrites: Hashable, Sendable {
    struct Rewrite: Hashable {
        let old: String
        let new: String
    }

    /// The rewrites, longest first, so that the most specific one applies.
    private let rewrites: [Rewrite]

    init(_ rewrites: [Rewrite]) {
        self.rewrites = rewrites.sorted { $0.old.utf8.count > $1.old.utf8.count }
    }

    /// Returns the replacement of a route and the outdated route as the catalogue writes it; `nil` if no rewrite
    /// applies.
    ///
    /// A rewrite applies to the path itself and to paths below it, and preserves the rest. If `/schema` becomes
    /// `/schedule`, then `/schema/7?tab=1` becomes `/schedule/7?tab=1`, and `/schemata` stays. No rewrite is applied to
    /// the result of another.
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
