/// The members of a JSON object with at most one level of objects in it, as places in its text.
///
/// It is read in one pass and without allocations. Everything unusual is declined: arrays, `null`, escapes, repeated
/// keys, exponents, further levels, many members, and every fault. A ``JSONParser`` reads what is declined.
package struct ObjectPlaces {
    /// The bytes of a string's content, or of a number.
    package typealias Text = UnsafeBufferPointer<UInt8>

    package enum Value {
        case text(Text)
        case number(Text)
        case bool(Bool)
        /// The range of the object's members in ``ObjectPlaces/inner``.
        case object(Range<Int>)
    }

    package struct Member {
        package let key: Text
        package let value: Value
    }

    /// The members of the object itself, in the order of the text.
    package let members: UnsafeBufferPointer<Member>
    /// The members of the objects in it.
    package let inner: UnsafeBufferPointer<Member>

    /// Runs `body` on the members of the object in `json`, unless the text is declined.
    ///
    /// The places are valid only during the call. It is not generic, since it could not be specialised in other modules.
    package static func read(_ json: Text, _ body: (ObjectPlaces) -> Void) {
        withUnsafeTemporaryAllocation(of: Member.self, capacity: mostMembers) { outer in
            withUnsafeTemporaryAllocation(of: Member.self, capacity: mostMembers) { inner in
                var reader = PlaceReader(cursor: TextCursor(json), inner: inner)
                guard let count = reader.readDocument(into: outer), UTF8Check.firstFault(in: json) == nil else {
                    return
                }
                body(
                    ObjectPlaces(
                        members: UnsafeBufferPointer(rebasing: outer[..<count]),
                        inner: UnsafeBufferPointer(rebasing: inner[..<reader.innerCount])
                    )
                )
            }
        }
    }

    /// The maximum number of members on each level; their places fit into the 1 KiB that an allocation on the stack may take.
    fileprivate static let mostMembers = 24

    /// Returns the members of an inner object as a value, in the order of the text.
    package func object(_ range: Range<Int>) -> JSONObject {
        JSONObject(unique: inner[range].map { JSONObject.Member(key: $0.key.string, value: $0.value.json) })
    }

    /// Returns an inner object as its canonical text; its strings need no escapes.
    package func canonical(_ range: Range<Int>) -> CanonicalObject {
        range.isEmpty ? .empty : CanonicalObject(canonical: canonicalBytes(range))
    }

    private func canonicalBytes(_ range: Range<Int>) -> [UInt8] {
        JSONBuffer.withScratch { json in
            write(range, into: &json)
            return json.array
        }
    }

    /// Writes the canonical text of an inner object.
    package func write(_ range: Range<Int>, into json: inout JSONBuffer) {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: range.count) { places in
            // The members are sorted by insertion, because there are few and many are already in order.
            for place in range {
                var index = place - range.lowerBound
                while index > 0, inner[place].key.precedes(inner[places[index - 1]].key) {
                    places.initializeElement(at: index, to: places[index - 1])
                    index -= 1
                }
                places.initializeElement(at: index, to: place)
            }
            json.append(UInt8(ascii: "{"))
            for place in places {
                if json.last != UInt8(ascii: "{") { json.append(UInt8(ascii: ",")) }
                json.append(quoted: inner[place].key)
                json.append(UInt8(ascii: ":"))
                switch inner[place].value {
                case .text(let text): json.append(quoted: text)
                case .number(let number): json.append(number)
                case .bool(let flag): json.append(flag ? "true" : "false" as StaticString)
                case .object: break
                }
            }
            json.append(UInt8(ascii: "}"))
        }
    }
}

extension ObjectPlaces.Value {
    /// The value; an object, which is not on the inner level, is empty.
    package var json: JSONValue {
        switch self {
        case .text(let text): .string(text.string)
        case .number(let number): .number(JSONNumber(checked: number.string))
        case .bool(let flag): .bool(flag)
        case .object: .object(JSONObject())
        }
    }
}

extension ObjectPlaces.Text {
    /// The text, which is valid UTF-8.
    package var string: String { String(decoding: self, as: UTF8.self) }

    fileprivate func precedes(_ other: Self) -> Bool {
        for index in 0..<Swift.min(count, other.count) where self[index] != other[index] {
            return self[index] < other[index]
        }
        return count < other.count
    }
}

extension JSONBuffer {
    /// Writes a string whose content needs no escapes.
    fileprivate mutating func append(quoted text: ObjectPlaces.Text) {
        append(UInt8(ascii: "\""))
        append(text)
        append(UInt8(ascii: "\""))
    }
}

/// Reads the members of an object of two levels.
private struct PlaceReader {
    var cursor: TextCursor
    let inner: UnsafeMutableBufferPointer<ObjectPlaces.Member>
    var innerCount = 0

    /// Reads the whole text, and returns the number of members.
    mutating func readDocument(into members: UnsafeMutableBufferPointer<ObjectPlaces.Member>) -> Int? {
        cursor.skipSpace()
        guard let count = readObject(into: members, isInner: false) else { return nil }
        cursor.skipSpace()
        return cursor.isAtEnd ? count : nil
    }

    private mutating func readObject(
        into members: UnsafeMutableBufferPointer<ObjectPlaces.Member>,
        isInner: Bool
    ) -> Int? {
        guard cursor.skip(UInt8(ascii: "{")) else { return nil }
        cursor.skipSpace()
        var count = 0
        if cursor.skip(UInt8(ascii: "}")) { return count }
        repeat {
            guard count < members.count, let key = cursor.plainString(), cursor.skipMark(UInt8(ascii: ":")),
                let value = value(isInner: isInner), !isRepeated(key, in: members, count)
            else { return nil }
            members.initializeElement(at: count, to: ObjectPlaces.Member(key: key, value: value))
            count += 1
        } while cursor.skipMark(UInt8(ascii: ","))
        return cursor.skip(UInt8(ascii: "}")) ? count : nil
    }

    private mutating func value(isInner: Bool) -> ObjectPlaces.Value? {
        switch cursor.current {
        case UInt8(ascii: "\""): cursor.plainString().map(ObjectPlaces.Value.text)
        case UInt8(ascii: "{"): isInner ? nil : innerObject()
        case UInt8(ascii: "t"): cursor.skip("true" as StaticString) ? .bool(true) : nil
        case UInt8(ascii: "f"): cursor.skip("false" as StaticString) ? .bool(false) : nil
        default: cursor.plainNumber().map(ObjectPlaces.Value.number)
        }
    }

    private mutating func innerObject() -> ObjectPlaces.Value? {
        let start = innerCount
        let rest = UnsafeMutableBufferPointer(rebasing: inner[start...])
        guard let count = readObject(into: rest, isInner: true) else { return nil }
        innerCount += count
        return .object(start..<innerCount)
    }

    /// Whether one of the first `count` members has this key.
    private func isRepeated(
        _ key: ObjectPlaces.Text,
        in members: UnsafeMutableBufferPointer<ObjectPlaces.Member>,
        _ count: Int
    ) -> Bool {
        for index in 0..<count where members[index].key.hasSameBytes(as: key) { return true }
        return false
    }
}

extension ObjectPlaces.Text {
    /// Returns whether both have the same bytes.
    @inlinable
    @inline(__always)
    package func hasSameBytes(as other: Self) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index] != other[index] { return false }
        return true
    }
}
