/// Functions that write an object member by member.
///
/// The caller opens and closes the object, and writes the members in the order of their names, which is the canonical
/// one.
extension JSONBuffer {
    /// Begins a member, whose value follows.
    ///
    /// Only an object that was just opened ends with an opening brace, because a text ends with its quote.
    @inlinable
    package mutating func begin(_ name: StaticString) {
        if last != UInt8(ascii: "{") { append(UInt8(ascii: ",")) }
        append(UInt8(ascii: "\""))
        append(name)
        append(UInt8(ascii: "\""))
        append(UInt8(ascii: ":"))
    }

    /// Begins a member with any name.
    @inlinable
    package mutating func begin(foreign name: String) {
        if last != UInt8(ascii: "{") { append(UInt8(ascii: ",")) }
        append(name)
        append(UInt8(ascii: ":"))
    }

    /// Writes a member with a text, or with `null`.
    package mutating func append(_ name: StaticString, _ text: String?) {
        begin(name)
        if let text { append(text) } else { append("null" as StaticString) }
    }

    /// Writes a member with `true` or `false`.
    package mutating func append(_ name: StaticString, _ flag: Bool) {
        begin(name)
        append(flag ? "true" : "false" as StaticString)
    }

    /// Writes a member with a whole number.
    package mutating func append(_ name: StaticString, _ number: Int) {
        begin(name)
        append(Int64(number))
    }
}
