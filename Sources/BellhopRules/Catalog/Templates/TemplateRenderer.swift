/// Renders templates with the values for their placeholders.
///
/// It continues after a missing value, so that all missing values are found. If there are faults, the texts must not be
/// used. A text is collected in bytes, since a string checks its storage and its encoding at every append.
struct TemplateRenderer<Values: PlaceholderValues> {
    /// The faults of all texts so far.
    private(set) var faults: [ValueFault] = []
    private let values: Values
    private var bytes: [UInt8] = []
    private var quoting = Template.Quoting.plain
    /// The text that replaces `#`.
    private var count = ""

    init(_ values: Values) { self.values = values }

    mutating func text(of template: Template, quoting: Template.Quoting = .plain) -> String {
        if let words = template.plainWords { return words }
        bytes.removeAll(keepingCapacity: true)
        bytes.reserveCapacity(template.expectedSize)
        self.quoting = quoting
        fill(template.segments)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a text as a field of a notification.
    mutating func write(
        _ template: Template,
        as field: NotificationTexts.Field,
        to texts: inout NotificationTexts.Builder,
        _ quoting: Template.Quoting = .plain
    ) {
        self.quoting = quoting
        texts.set(field) { memory in
            swap(&bytes, &memory)
            fill(template.segments)
            swap(&bytes, &memory)
        }
    }

    /// Writes a link as fields of a notification, and adds no faults; `false` if it lacks a value.
    mutating func write(_ link: LinkTemplate, to texts: inout NotificationTexts.Builder) -> Bool {
        let former = faults.count
        write(link.web, as: .webLink, to: &texts, .link)
        write(link.mobile, as: .mobileLink, to: &texts, .link)
        if let scheme = link.scheme { write(scheme, as: .schemeLink, to: &texts, .link) }
        guard faults.count > former else { return true }
        faults.removeSubrange(former...)
        for field in [NotificationTexts.Field.webLink, .mobileLink, .schemeLink] { texts.remove(field) }
        return false
    }

    mutating func forgetFaults() { faults = [] }

    /// Returns the link, and adds no faults; `nil` if it lacks a value.
    mutating func link(of template: LinkTemplate) -> DeepLink? {
        let former = faults.count
        let link = DeepLink(
            web: text(of: template.web, quoting: .link),
            mobile: text(of: template.mobile, quoting: .link),
            scheme: template.scheme.map { text(of: $0, quoting: .link) }
        )
        guard faults.count > former else { return link }
        faults.removeSubrange(former...)
        return nil
    }

    private mutating func fill(_ segments: [Template.Segment]) {
        // A loop over the elements would copy each.
        for index in segments.indices { fill(segments[index]) }
    }

    private mutating func fill(_ segment: Template.Segment) {
        switch segment {
        case .words(let words): append(words)
        case .gap(let source): fill(source)
        case .number(let source, let style):
            if let number = number(source) { append(style.text(of: number)) }
        case .units(let gap): fill(gap)
        case .short(let source):
            if let word = word(source) { append(word.shownShort) }
        case .plural(let gap): fill(gap)
        case .select(let gap): fill(gap)
        case .count: append(count)
        }
    }

    private mutating func append(_ text: String) { text.withBytes { bytes.append(contentsOf: $0) } }

    private mutating func fill(_ source: ValueSource) {
        guard !values.append(source, to: &bytes, quoting) else { return }
        faults.append(ValueFault(source, expected: "a string or a number", found: values.value(of: source)))
    }

    private mutating func fill(_ gap: Template.UnitsPlaceholder) {
        let amount = number(gap.source, whole: true)
        guard let decimals = decimals(gap), let amount else { return }
        append(gap.style.text(of: amount.movingPoint(left: decimals, keeping: gap.longest)))
    }

    /// Returns the number of decimals.
    ///
    /// The limit of 255 is that of ERC-20 and similar standards.
    private mutating func decimals(_ gap: Template.UnitsPlaceholder) -> Int? {
        switch gap.decimals {
        case .fixed(let decimals): return decimals
        case .value(let source):
            let value = values.value(of: source)
            if let decimals = value.flatMap(DecimalText.init)?.smallInteger, (0...255).contains(decimals) {
                return decimals
            }
            faults.append(ValueFault(source, expected: "a whole number from 0 to 255", found: value))
            return nil
        }
    }

    private mutating func fill(_ gap: Template.PluralPlaceholder) {
        guard let number = number(gap.source) else {
            fill(gap.other)
            return
        }
        let outer = count
        defer { count = outer }
        count = gap.style.text(of: number)
        let exact = number.smallInteger.flatMap { gap.exact[$0] }
        fill(exact ?? gap.categories[gap.rule.category(of: PluralOperands(number))] ?? gap.other)
    }

    private mutating func fill(_ gap: Template.SelectPlaceholder) {
        switch values.value(of: gap.source) {
        case .string(let word)? where !word.isEmpty: fill(gap.choices[word] ?? gap.other)
        case .number(let number)?: fill(gap.choices[number.text] ?? gap.other)
        case .bool(let flag)?: fill(gap.choices[flag ? "true" : "false"] ?? gap.other)
        case let value:
            faults.append(ValueFault(gap.source, expected: "a word", found: value))
            fill(gap.other)
        }
    }

    /// Returns a string unchanged and a number as written.
    ///
    /// Other kinds of values are faults.
    private mutating func word(_ source: ValueSource) -> String? {
        switch values.value(of: source) {
        case .string(let text)? where !text.isEmpty: return text
        case .number(let number)?: return number.text
        case let value:
            faults.append(ValueFault(source, expected: "a string or a number", found: value))
            return nil
        }
    }

    private mutating func number(_ source: ValueSource, whole: Bool = false) -> DecimalText? {
        let value = values.value(of: source)
        if let number = value.flatMap(DecimalText.init), !whole || number.isWhole { return number }
        let expected = whole ? "a whole number (or a string with one)" : "a number (or a string with one)"
        faults.append(ValueFault(source, expected: expected, found: value))
        return nil
    }
}

extension String {
    /// The beginning and the end of a long text, such as `0x1234…cdef`.
    ///
    /// A text that is only slightly longer than this form stays whole.
    fileprivate var shownShort: String {
        guard utf8.count > 12, let start = index(startIndex, offsetBy: 6, limitedBy: endIndex),
            let end = index(endIndex, offsetBy: -4, limitedBy: start), index(start, offsetBy: 2, limitedBy: end) != nil
        else { return self }
        return self[..<start] + "…" + self[end...]
    }
}

/// The source of a placeholder's value.
enum ValueSource: Hashable {
    case targetID
    case venueID
    case data([String])

    init(name: String) {
        switch name {
        case EventField.targetId.rawValue: self = .targetID
        case EventField.venueId.rawValue: self = .venueID
        default: self = .data(name.split(separator: ".").map(String.init))
        }
    }

    var pointer: JSONPointer { pointer { JSONPointer.root.key($0) } }

    /// Returns the place of the value; `place` returns that of a field of the event.
    func pointer(_ place: (String) -> JSONPointer) -> JSONPointer {
        switch self {
        case .targetID: place(EventField.targetId.rawValue)
        case .venueID: place(EventField.venueId.rawValue)
        case .data(let path): path.reduce(place(EventField.data.rawValue)) { $0.key($1) }
        }
    }
}

/// A value that a template needs and cannot use.
struct ValueFault: Hashable {
    let source: ValueSource
    /// The expected kind of value.
    let expected: String
    /// The actual kind of value.
    let found: String

    init(_ source: ValueSource, expected: String, found: JSONValue?) {
        self.source = source
        self.expected = expected
        self.found = found?.describedKind ?? "no value"
    }
}

extension FieldFault {
    /// The maximum number of missing values that a message names; the pointer is that of the first.
    private static let namedFaults = 5

    /// Creates the fault for values that a template lacks; `nil` if it lacks none.
    init?(_ faults: [ValueFault]) {
        guard let first = faults.first else { return nil }
        var distinct: [ValueFault] = []
        for fault in faults where !distinct.contains(where: { $0.source == fault.source }) { distinct.append(fault) }
        let place = first.source.pointer
        guard distinct.count > 1 else {
            let message = "the app's template needs \(first.expected) at \(Self.short(place)), found \(first.found)"
            self.init(.invalidField, at: place, message)
            return
        }
        let named = distinct.prefix(Self.namedFaults).map { fault in
            "\(Self.short(fault.source.pointer)) (found \(fault.found))"
        }
        let rest = distinct.count > named.count ? " and \(distinct.count - named.count) more" : ""
        let message = "the app's template needs \(distinct.count) values: \(named.joined(separator: ", "))\(rest)"
        self.init(.invalidField, at: place, message)
    }

    /// Returns the pointer, or its end if it is long.
    private static func short(_ pointer: JSONPointer) -> String {
        let text = pointer.text
        return text.utf8.count > 48 ? "…" + text.suffix(40) : text
    }
}
