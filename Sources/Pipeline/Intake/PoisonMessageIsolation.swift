/// Groups a batch by delivery count to isolate poison messages.
///
/// A message that was delivered several times before may have crashed its worker. But a worker that dies returns all of
/// its messages, and the broker counts that for harmless ones, too. After many crashes nearly every message is a
/// suspect. A worker that processed each suspect separately would complete so few before its next crash that all of
/// them would reach the delivery limit. The groups therefore get smaller with each delivery, and a message is alone
/// only for the last third of its deliveries.
enum PoisonMessageIsolation {
    /// The number of earlier deliveries from which a message is a suspect.
    static let suspicion = 8
    /// The initial size of a group of suspects; it is halved with each further delivery.
    static let largest = 64

    /// Returns the positions of messages with these counts of earlier deliveries, in groups, the least suspect first.
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
