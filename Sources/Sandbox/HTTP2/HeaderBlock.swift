/// The fields of a request, kept as the bytes that came: texts are made only of what somebody reads.
struct HeaderBlock: Sendable {
    private struct Extent {
        let start: Int
        let nameLength: Int
        let valueLength: Int
    }

    private var bytes: [UInt8] = []
    private var extents: [Extent] = []

    /// Names and values together.
    var byteCount: Int { bytes.count }

    /// Appends one field; HTTP/2 has its names in small letters already.
    mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        if extents.isEmpty {
            bytes.reserveCapacity(512)
            extents.reserveCapacity(12)
        }
        extents.append(Extent(start: bytes.count, nameLength: name.count, valueLength: value.count))
        bytes.append(contentsOf: name)
        bytes.append(contentsOf: value)
    }

    /// Appends one field.
    mutating func append(name: String, value: String) {
        var name = name
        var value = value
        name.withUTF8 { name in value.withUTF8 { value in append(name: name, value: value) } }
    }

    /// The first value of a name in small letters; nil where the request did not have it.
    subscript(name: String) -> String? {
        for extent in extents where extent.nameLength == name.utf8.count {
            guard bytes[extent.start..<extent.start + extent.nameLength].elementsEqual(name.utf8) else { continue }
            return valueText(extent)
        }
        return nil
    }

    /// All fields in the order they came; bytes that are no UTF-8 appear as replacement characters.
    var fields: [(name: String, value: String)] {
        extents.map { extent in
            let name = bytes[extent.start..<extent.start + extent.nameLength]
            return (String(decoding: name, as: UTF8.self), valueText(extent))
        }
    }

    private func valueText(_ extent: Extent) -> String {
        let start = extent.start + extent.nameLength
        return String(decoding: bytes[start..<start + extent.valueLength], as: UTF8.self)
    }
}
