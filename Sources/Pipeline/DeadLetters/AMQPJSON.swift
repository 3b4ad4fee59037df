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
