/// What every broker leaves of a message's headers.
///
/// RabbitMQ before 3.13 hands a table on byte for byte, unless it adds a header of its own, as it does when a quorum
/// queue delivers a message again. From 3.13 on it takes every table apart and writes it anew: sorted by name, of one
/// name the first entry alone. Either way an unsigned number of 64 bits comes back with a sign, since the broker
/// knows no other. Tables inside keep their order, and all other values theirs.
extension FieldTable {
    /// The table as RabbitMQ writes it, the same whichever release delivers it and however often.
    package var settled: FieldTable {
        var seen: Set<[UInt8]> = []
        let named = signed.entries.map { entry in (name: entry.name.withWireBytes { Array($0) }, entry: entry) }
        let first = named.filter { seen.insert($0.name).inserted }
        return FieldTable(first.sorted { $0.name.lexicographicallyPrecedes($1.name) }.map(\.entry))
    }

    fileprivate var signed: FieldTable {
        FieldTable(entries.map { .init($0.name, $0.value.signed) })
    }
}

extension FieldValue {
    fileprivate var signed: FieldValue {
        switch self {
        case .uint64(let number): .int64(Int64(bitPattern: number))
        case .array(let values): .array(values.map(\.signed))
        case .table(let table): .table(table.signed)
        default: self
        }
    }
}
