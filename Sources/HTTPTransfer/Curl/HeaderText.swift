/// Header lines as C strings, one after the other, in a buffer that is kept from request to request.
struct HeaderText {
    private(set) var bytes: [UInt8] = []

    /// Where each line begins.
    private(set) var starts: [Int] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
    }

    /// Writes `Name: value`, or libcurl's spelling `Name;` for an empty value; false if the grammar forbids it.
    mutating func append(_ header: TransferRequest.Header) -> Bool {
        guard HeaderRules.allowsName(header.name) else { return false }
        starts.append(bytes.count)
        bytes.append(contentsOf: header.name.utf8)
        let value = HeaderRules.trimmed(header.value)
        guard !value.isEmpty else {
            bytes.append(UInt8(ascii: ";"))
            bytes.append(0)
            return true
        }
        guard value.utf8.allSatisfy(ASCII.isHeaderValue) else { return false }
        bytes.append(UInt8(ascii: ":"))
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: value.utf8)
        bytes.append(0)
        return true
    }

    /// A line that libcurl reads as an instruction, such as `Expect:`, which leaves a header out.
    mutating func append(line: StaticString) {
        starts.append(bytes.count)
        line.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(0)
    }
}
