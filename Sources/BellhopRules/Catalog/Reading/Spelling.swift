/// How far two words are apart, for "did you mean".
enum Spelling {
    /// Letters to insert, remove or replace until one becomes the other (Levenshtein), without regard to case.
    static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.lowercased().utf8.prefix(64))
        let right = Array(right.lowercased().utf8.prefix(64))
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in right.enumerated() {
                let replaced = diagonal + (letter == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[right.count]
    }
}
