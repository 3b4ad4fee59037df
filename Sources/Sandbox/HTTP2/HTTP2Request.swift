/// A request that has been received completely.
struct HTTP2Request: Sendable {
    /// The connection's number in its server, starting at 1.
    let connection: UInt64
    /// The fields, including pseudo-headers such as `:path`; empty if the handler does not read content.
    let headers: HeaderBlock
    /// Empty if the handler does not read content.
    let body: [UInt8]

    var method: String { headers[":method"] ?? "" }
    var path: String { headers[":path"] ?? "" }
}

/// A request's fields, stored as the received bytes.
///
/// Strings are created only for fields that are read.
struct HeaderBlock: Sendable {
    private struct Extent {
        let start: Int
        let nameLength: Int
        let valueLength: Int
    }

    private var bytes: [UInt8] = []
    private var extents: [Extent] = []

    /// The bytes of all names and values together.
    var byteCount: Int { bytes.count }

    /// Appends one field; names are already in lower case in HTTP/2.
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

    /// Returns the first value of a name in lower case; `nil` if the request does not have the field.
    subscript(name: String) -> String? {
        for extent in extents where extent.nameLength == name.utf8.count {
            guard bytes[extent.start..<extent.start + extent.nameLength].elementsEqual(name.utf8) else { continue }
            return valueText(extent)
        }
        return nil
    }

    /// All fields in their received order; bytes that are not valid UTF-8 appear as replacement characters.
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
