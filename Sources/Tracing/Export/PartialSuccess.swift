import BellhopJSON

/// A collector's answer to a request that it accepted only in part.
enum PartialSuccess {
    /// Returns the number of rejected spans; zero if the answer contains no readable number.
    static func refused(_ body: [UInt8]) -> Int {
        guard let answer = try? JSONParser(limits: .init(bytes: 1 << 16, depth: 8)).parse(body).get(),
            let said = answer["partialSuccess"]?["rejectedSpans"]
        else { return 0 }
        // A 64-bit number may be a JSON number or a string.
        let number = said.number?.int64 ?? said.string.flatMap { Int64($0) }
        return Int(clamping: max(0, number ?? 0))
    }
}
