/// Counts values that arrive in runs, such as the outcomes of a batch, with one dictionary access per run.
struct Tally<Key: Hashable> {
    private var counts: [Key: Int] = [:]
    private var latest: (key: Key, run: Int)?

    mutating func add(_ key: Key, _ count: Int = 1) {
        if let latest, latest.key == key {
            self.latest?.run += count
        } else {
            endRun()
            latest = (key, count)
        }
    }

    /// Returns the counts.
    consuming func counted() -> [Key: Int] {
        endRun()
        return counts
    }

    private mutating func endRun() {
        guard let latest else { return }
        counts[latest.key, default: 0] += latest.run
        self.latest = nil
    }
}
