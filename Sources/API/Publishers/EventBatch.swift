/// The elements of a JSON array as separate texts.
///
/// Each event keeps the bytes that its publisher wrote, and is parsed once. Only the commas and brackets outside of
/// strings matter here; everything inside an element is checked when the element is parsed.
enum EventBatch {
    /// Returns the elements, or `nil` if the text is not one array.
    ///
    /// An element that is not a JSON document is returned unchanged. An array with more than `limit` elements is not
    /// read to its end: the result has one element more than the limit.
    static func elements(of bytes: [UInt8], atMost limit: Int) -> [[UInt8]]? {
        let text = trimmed(bytes[...])
        guard text.count >= 2, text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") else { return nil }
        let inner = text.dropFirst().dropLast()
        guard !trimmed(inner).isEmpty else { return [] }
        var elements: [[UInt8]] = []
        var start = inner.startIndex
        var depth = 0
        var isInString = false
        var isEscaped = false
        for index in inner.indices {
            let byte = inner[index]
            guard !isInString else {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                // The array ends before the text does.
                guard depth >= 0 else { return nil }
            case UInt8(ascii: ",") where depth == 0:
                elements.append(Array(trimmed(inner[start..<index])))
                start = index + 1
                guard elements.count <= limit else { return elements }
            default: break
            }
        }
        guard depth == 0, !isInString else { return nil }
        elements.append(Array(trimmed(inner[start...])))
        return elements
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        guard let last = bytes.lastIndex(where: { !isBlank($0) }) else { return [] }
        return bytes[...last].drop(while: isBlank)
    }
}
