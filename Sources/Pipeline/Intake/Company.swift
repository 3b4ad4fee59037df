/// Which messages of a batch go together.
///
/// What was handed out several times before may be what killed its worker. But whoever dies gives back all that it held, and
/// the broker counts that for the innocent, too: in a storm of deaths nearly everything is suspect, and a worker that took
/// each by itself would get so little done before its own end that they all came to the delivery limit. So the company gets
/// smaller with each delivery, and only the last third of them a message makes alone.
enum Company {
    /// From so many earlier deliveries on, a message is suspect.
    static let suspicion = 8
    /// How many suspects go together at first; half as many after each further delivery.
    static let largest = 64

    /// The places of the messages with these counts of earlier deliveries, those first that are the least suspect.
    static func of(_ counts: [Int]) -> [[Int]] {
        let suspects = counts.indices.filter { counts[$0] >= suspicion }
        guard !suspects.isEmpty else { return counts.isEmpty ? [] : [Array(counts.indices)] }
        let others = counts.indices.filter { counts[$0] < suspicion }
        var companies = others.isEmpty ? [] : [others]
        for (count, places) in Dictionary(grouping: suspects, by: { counts[$0] }).sorted(by: { $0.key < $1.key }) {
            let size = max(1, largest >> (count - suspicion))
            for start in stride(from: 0, to: places.count, by: size) {
                companies.append(Array(places[start..<min(start + size, places.count)]))
            }
        }
        return companies
    }
}
