import AMQP
import BellhopRules
import Foundation
import Store

/// Converts AMQP properties and header values to JSON, readable for operators and restorable for a replay.
///
/// Text, Booleans and 64-bit integers are plain JSON values, tables are objects and arrays are arrays. Every other type
/// is an object with one key that names it: `{"$bytes": "…base64…"}`, `{"$timestamp": 1700000000}`. A table with a
/// repeated name, or a name that begins with `$`, is `{"$table": [[name, value], …]}`.
enum AMQPJSON {
    static func object(_ table: FieldTable) -> [UInt8] {
        var text: [UInt8] = []
        append(table, to: &text)
        return text
    }

    /// Returns the properties without the headers; absent ones are left out.
    ///
    /// If only the beginning of the body is left, a member states that.
    static func object(_ properties: MessageProperties, cutBody: TruncatedBody? = nil) -> [UInt8] {
        var members = FieldTable()
        if let cutBody {
            let cut: FieldTable = [
                "bytes": .int64(Int64(clamping: cutBody.bytes)), "sha256": .string(cutBody.sha256),
            ]
            members[TruncatedBody.member] = .table(cut)
        }
        members["contentType"] = properties.contentType.map(FieldValue.string)
        members["contentEncoding"] = properties.contentEncoding.map(FieldValue.string)
        members["deliveryMode"] = properties.deliveryMode.map { .int64(Int64($0.rawValue)) }
        members["priority"] = properties.priority.map { .int64(Int64($0)) }
        members["correlationId"] = properties.correlationID.map(FieldValue.string)
        members["replyTo"] = properties.replyTo.map(FieldValue.string)
        members["expiration"] = properties.expiration.map(FieldValue.string)
        members["messageId"] = properties.messageID.map(FieldValue.string)
        members["timestamp"] = properties.timestamp.map(FieldValue.timestamp)
        members["type"] = properties.type.map(FieldValue.string)
        members["userId"] = properties.userID.map(FieldValue.string)
        members["appId"] = properties.appID.map(FieldValue.string)
        members["clusterId"] = properties.clusterID.map(FieldValue.string)
        return object(members)
    }

    private static func append(_ table: FieldTable, to text: inout [UInt8]) {
        let names = table.entries.map(\.name)
        guard Set(names).count == names.count, !names.contains(where: { $0.hasPrefix("$") || $0.contains("\0") }) else {
            let pairs = table.entries.map { FieldValue.array([.string($0.name), $0.value]) }
            return appendTyped("table", to: &text) { append(.array(pairs), to: &$0) }
        }
        text.append(UInt8(ascii: "{"))
        for (index, entry) in table.entries.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            JSONWriter.write(entry.name, into: &text)
            text.append(UInt8(ascii: ":"))
            append(entry.value, to: &text)
        }
        text.append(UInt8(ascii: "}"))
    }

    private static func append(_ value: FieldValue, to text: inout [UInt8]) {
        switch value {
        case .boolean(let value): text += Array((value ? "true" : "false").utf8)
        case .int64(let value): text += Array(String(value).utf8)
        case .string(let value) where !value.contains("\0"): JSONWriter.write(value, into: &text)
        case .array(let values):
            text.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                append(value, to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .table(let table): append(table, to: &text)
        case .void: text += Array("null".utf8)
        case .string(let value): appendTyped("text", Data(value.utf8).base64EncodedString(), to: &text)
        case .bytes(let bytes): appendTyped("bytes", Data(bytes).base64EncodedString(), to: &text)
        case .int8(let value): appendTyped("int8", String(value), to: &text)
        case .uint8(let value): appendTyped("uint8", String(value), to: &text)
        case .int16(let value): appendTyped("int16", String(value), to: &text)
        case .uint16(let value): appendTyped("uint16", String(value), to: &text)
        case .int32(let value): appendTyped("int32", String(value), to: &text)
        case .uint32(let value): appendTyped("uint32", String(value), to: &text)
        case .uint64(let value): appendTyped("uint64", String(value), to: &text)
        case .float(let value): appendTyped("float", String(value), to: &text)
        case .double(let value): appendTyped("double", String(value), to: &text)
        case .decimal(let scale, let value): appendTyped("decimal", "\(value)e-\(scale)", to: &text)
        case .timestamp(let seconds): appendTyped("timestamp", String(seconds), to: &text)
        case .omitted: appendTyped("omitted", "nested too deep or too many values", to: &text)
        }
    }

    private static func appendTyped(_ type: String, _ value: String, to text: inout [UInt8]) {
        appendTyped(type, to: &text) { JSONWriter.write(value, into: &$0) }
    }

    private static func appendTyped(_ type: String, to text: inout [UInt8], _ value: (inout [UInt8]) -> Void) {
        text += Array("{\"$\(type)\":".utf8)
        value(&text)
        text.append(UInt8(ascii: "}"))
    }
}

extension AMQPJSON {
    /// Returns a table that ``object(_:)-(FieldTable)`` wrote; `nil` for any other text.
    static func table(_ json: [UInt8]) -> FieldTable? {
        guard case .success(let value) = JSONParser(limits: limits).parse(json) else { return nil }
        switch read(value) {
        case .table(let table)?: return table
        default: return nil
        }
    }

    /// Returns properties without headers; `nil` if the text is not from Bellhop.
    static func properties(_ json: [UInt8]) -> MessageProperties? {
        guard let members = table(json) else { return nil }
        var properties = MessageProperties()
        properties.contentType = members["contentType"]?.text
        properties.contentEncoding = members["contentEncoding"]?.text
        properties.deliveryMode = members["deliveryMode"]?.integer.flatMap { mode in
            UInt8(exactly: mode).map(MessageProperties.DeliveryMode.init(rawValue:))
        }
        properties.priority = members["priority"]?.integer.flatMap { UInt8(exactly: $0) }
        properties.correlationID = members["correlationId"]?.text
        properties.replyTo = members["replyTo"]?.text
        properties.expiration = members["expiration"]?.text
        properties.messageID = members["messageId"]?.text
        if case .timestamp(let seconds)? = members["timestamp"] { properties.timestamp = seconds }
        properties.type = members["type"]?.text
        properties.userID = members["userId"]?.text
        properties.appID = members["appId"]?.text
        properties.clusterID = members["clusterId"]?.text
        return properties
    }

    /// Base64 makes headers longer than on the wire, and typed values add one nesting level each.
    private static let limits = JSONParser.Limits(bytes: 4 << 20, depth: 128)

    private static func read(_ value: JSONValue) -> FieldValue? {
        switch value {
        case .null: .void
        case .bool(let flag): .boolean(flag)
        case .number(let number): number.int64.map(FieldValue.int64)
        case .string(let text): .string(text)
        case .array(let values): readAll(values).map(FieldValue.array)
        case .object(let object): typed(object) ?? plain(object)
        }
    }

    private static func readAll(_ values: [JSONValue]) -> [FieldValue]? {
        let read = values.compactMap(read)
        return read.count == values.count ? read : nil
    }

    private static func plain(_ object: JSONObject) -> FieldValue? {
        var table = FieldTable()
        for member in object.members {
            guard let value = read(member.value) else { return nil }
            table.entries.append(.init(member.key, value))
        }
        return .table(table)
    }

    /// Returns the value of an object whose single key names a type; `nil` for any other.
    private static func typed(_ object: JSONObject) -> FieldValue? {
        guard object.count == 1, let member = object.members.first, member.key.hasPrefix("$") else { return nil }
        if member.key == "$table" { return pairs(member.value) }
        guard let text = member.value.string else { return nil }
        switch member.key {
        case "$text": return Data(base64Encoded: text).map { .string(String(decoding: $0, as: UTF8.self)) }
        case "$bytes": return Data(base64Encoded: text).map { .bytes([UInt8]($0)) }
        case "$int8": return Int8(text).map(FieldValue.int8)
        case "$uint8": return UInt8(text).map(FieldValue.uint8)
        case "$int16": return Int16(text).map(FieldValue.int16)
        case "$uint16": return UInt16(text).map(FieldValue.uint16)
        case "$int32": return Int32(text).map(FieldValue.int32)
        case "$uint32": return UInt32(text).map(FieldValue.uint32)
        case "$uint64": return UInt64(text).map(FieldValue.uint64)
        case "$float": return Float(text).map(FieldValue.float)
        case "$double": return Double(text).map(FieldValue.double)
        case "$timestamp": return UInt64(text).map(FieldValue.timestamp)
        case "$decimal": return decimal(text)
        case "$omitted": return .omitted
        default: return nil
        }
    }

    private static func pairs(_ value: JSONValue) -> FieldValue? {
        guard let pairs = value.array else { return nil }
        var table = FieldTable()
        for pair in pairs {
            guard let parts = pair.array, parts.count == 2, case .string(let name)? = read(parts[0]),
                let value = read(parts[1])
            else { return nil }
            table.entries.append(.init(name, value))
        }
        return .table(table)
    }

    /// Reads `12e-3`: the value, and the number of its decimal digits.
    private static func decimal(_ text: String) -> FieldValue? {
        let parts = text.split(separator: "e", maxSplits: 1)
        guard parts.count == 2, parts[1].first == "-", let value = UInt32(parts[0]),
            let scale = UInt8(parts[1].dropFirst())
        else { return nil }
        return .decimal(scale: scale, value: value)
    }
}
