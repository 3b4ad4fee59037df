/// Counts what comes in runs, as the outcomes of a batch do: a dictionary is asked once for each run.
struct Tally<Key: Hashable> {
    private var counts: [Key: Int] = [:]
    private var latest: (key: Key, run: Int)?

    mutating func add(_ key: Key) {
        if let latest, latest.key == key {
            self.latest?.run += 1
        } else {
            endRun()
            latest = (key, 1)
        }
    }

    /// What was counted.
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
