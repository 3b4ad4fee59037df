import AMQP
import BellhopRules
import Foundation

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
