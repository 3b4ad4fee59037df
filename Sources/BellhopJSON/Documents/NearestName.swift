/// Finds the candidate that a misspelt name probably meant.
package enum NearestName {
    /// Returns the candidate with the fewest edits; `nil` if no candidate is near.
    ///
    /// The limit is a third of the name's length, but at least two edits.
    package static func find(_ name: String, among candidates: [String]) -> String? {
        find(name, among: candidates, within: max(2, name.count / 3))
    }

    /// Returns `, did you mean NAME?` as the end of an error message; empty if no candidate is near.
    package static func hint(_ name: String, among candidates: [String]) -> String {
        find(name, among: candidates).map { ", did you mean \($0)?" } ?? ""
    }

    /// Returns the candidate with the fewest edits; `nil` if it needs more than `limit` edits.
    package static func find(_ name: String, among candidates: [String], within limit: Int) -> String? {
        // A name from outside may be long, and the work grows with its length.
        guard name.count <= 100 else { return nil }
        let letters = Array(name.lowercased())
        let nearest = candidates.map { (name: $0, edits: edits(letters, Array($0.lowercased()))) }
            .min { $0.edits < $1.edits }
        guard let nearest, nearest.edits <= limit else { return nil }
        return nearest.name
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn one name into the
    /// other.
    ///
    /// Case is ignored.
    private static func edits(_ from: [Character], _ to: [Character]) -> Int {
        var beforeLast = [Int]()
        var last = Array(0...to.count)
        for row in 0..<from.count {
            var current = [row + 1]
            for column in 0..<to.count {
                let replaced = last[column] + (from[row] == to[column] ? 0 : 1)
                var fewest = min(replaced, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, from[row] == to[column - 1], from[row - 1] == to[column] {
                    fewest = min(fewest, beforeLast[column - 1] + 1)
                }
                current.append(fewest)
            }
            (beforeLast, last) = (last, current)
        }
        return last[to.count]
    }
}
