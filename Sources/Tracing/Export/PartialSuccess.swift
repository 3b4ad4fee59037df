import BellhopJSON

/// What a collector says that took a request and not all of its spans.
enum PartialSuccess {
    /// How many it refused; none where its answer says nothing that can be read.
    static func refused(_ body: [UInt8]) -> Int {
        guard let answer = try? JSONParser(limits: .init(bytes: 1 << 16, depth: 8)).parse(body).get(),
            let said = answer["partialSuccess"]?["rejectedSpans"]
        else { return 0 }
        // A number of 64 bits may come as either.
        let number = said.number?.int64 ?? said.string.flatMap { Int64($0) }
        return Int(clamping: max(0, number ?? 0))
    }
}
