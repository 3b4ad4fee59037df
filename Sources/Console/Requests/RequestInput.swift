import BellhopJSON
import BellhopRules
import Operations

/// A page's input, checked against the fields and items that the operation takes.
struct RequestInput: Sendable {
    let operation: Operation
    let items: [String]
    let values: [(name: String, value: String)]
    let switches: [String]
    /// The reason, for the audit.
    private(set) var because = ""
    /// The confirmed number of items.
    private(set) var agreed: Int?
    /// The time of the count, as stated in the question.
    private(set) var agreedAsOf: String?
    /// A document, such as the corrected body of a message.
    private(set) var text = ""

    /// Whether an act must only report its effect, because it is not confirmed yet.
    var isPreview: Bool { operation.asksFirst && agreed == nil }

    /// The input of an operation.
    var fields: OperationFields {
        var fields = OperationFields(
            items: items,
            values: Dictionary(grouping: values, by: \.name).mapValues { $0.map(\.value) },
            switches: Set(switches)
        )
        fields.document = Array(text.utf8)
        return fields
    }

    /// The agreement, or `nil` if the act was not confirmed.
    var agreement: Agreement? {
        agreed.map { Agreement(count: $0, asOf: agreedAsOf.flatMap(Timestamp.init(validating:))) }
    }

    /// The longest value, in bytes.
    private static let longestValue = 8_192
    /// The maximum number of rows on a page.
    private static let longestList = 1_000

    // MARK: - Reading

    /// Reads the query of a reading.
    ///
    /// `item` names an item, everything else is a field, or a switch with the value `true`.
    init(_ operation: Operation, query: [(name: String, value: String)]) throws(ConsoleError) {
        var (operands, switches): ([String], [String]) = ([], [])
        var values: [(name: String, value: String)] = []
        for (name, value) in query {
            if name == "item" {
                operands.append(value)
            } else if operation.switches.contains(name) {
                guard value == "true" else { throw .field(name, "expected true") }
                switches.append(name)
            } else if !value.isEmpty {
                values.append((name, value))
            }
        }
        try self.init(operation, operands, values, switches)
    }

    /// Reads the body of an act.
    init(_ operation: Operation, body: JSONObject) throws(ConsoleError) {
        let known = ["items", "options", "because", "agreed", "asOf", "text"]
        if let stranger = body.members.first(where: { !known.contains($0.key) }) {
            throw .field(stranger.key, "there is no such member")
        }
        var operands: [String] = []
        guard let list = (body["items"] ?? .array([])).array else { throw .field("items", "expected a list") }
        for item in list {
            guard let name = item.string else { throw .field("items", "expected texts") }
            operands.append(name)
        }
        let (values, switches) = try Self.options(body["options"])
        try self.init(operation, operands, values, switches)
        text = try Self.text(body, "text", atMost: 1 << 20)
        agreed = body["agreed"]?.number?.int64.flatMap { Int(exactly: $0) }
        let asOf = try Self.text(body, "asOf", atMost: 64)
        agreedAsOf = asOf.isEmpty ? nil : asOf
        because = try Self.text(body, "because", atMost: 2_000)
        guard isPreview || because.contains(where: { !$0.isWhitespace }) else {
            throw .field("because", "say why: the audit keeps it")
        }
    }

    private static func words(_ range: ClosedRange<Int>) -> String {
        let least = range.lowerBound
        return range.count > 1 ? "\(least) to \(range.upperBound) items" : least == 1 ? "1 item" : "\(least) items"
    }

    private init(
        _ operation: Operation,
        _ operands: [String],
        _ values: [(name: String, value: String)],
        _ switches: [String]
    ) throws(ConsoleError) {
        guard operation.items.contains(operands.count) else {
            throw .field(
                "items",
                "expected \(Self.words(operation.items))"
            )
        }
        for text in operands where !Self.isSound(text) || text.hasPrefix("-") {
            throw .field("items", "expected names of items")
        }
        for (name, value) in values {
            guard operation.fields.contains(name) else { throw .field(name, "there is no such option here") }
            guard Self.isSound(value) else { throw .field(name, "expected a text of at most 8,192 bytes") }
            if name == "limit", Int(value).map({ $0 > Self.longestList }) ?? true {
                throw .field(name, "expected a number up to \(Self.longestList)")
            }
        }
        if let stranger = switches.first(where: { !operation.switches.contains($0) }) {
            throw .field(stranger, "there is no such option here")
        }
        self.operation = operation
        items = operands
        self.values = values
        self.switches = switches
    }

    /// Reads options such as `{"app": "drop", "all": true, "set": ["/id=1", "/app=drop"]}`.
    ///
    /// Empty and false values are left out.
    private static func options(
        _ json: JSONValue?
    ) throws(ConsoleError) -> (values: [(name: String, value: String)], switches: [String]) {
        var values: [(name: String, value: String)] = []
        var switches: [String] = []
        guard let options = (json ?? .object(JSONObject())).object else {
            throw .field("options", "expected an object")
        }
        for member in options.members {
            switch member.value {
            case .string(let text): if !text.isEmpty { values.append((member.key, text)) }
            case .number(let number): values.append((member.key, number.text))
            case .bool(let isOn): if isOn { switches.append(member.key) }
            case .array(let texts):
                for text in texts {
                    guard let text = text.string else { throw .field(member.key, "expected texts") }
                    values.append((member.key, text))
                }
            case .null: continue
            case .object: throw .field(member.key, "expected a text")
            }
        }
        return (values, switches)
    }

    private static func text(_ body: JSONObject, _ name: String, atMost limit: Int) throws(ConsoleError) -> String {
        guard let value = body[name], value != .null else { return "" }
        guard let text = value.string, text.utf8.count <= limit, !text.unicodeScalars.contains("\u{0}") else {
            throw .field(name, "expected a text of at most \(limit) bytes without NUL")
        }
        return text
    }

    private static func isSound(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= longestValue && !text.unicodeScalars.contains("\u{0}")
    }
}
