/// What is legal JSON and still cannot be stored or read by everybody on the way: U+0000, which PostgreSQL refuses in
/// text and `jsonb`, and numbers beyond an IEEE double (see `JSONNumber.isPortable`).
enum StorableJSON {
    static func check(_ value: JSONValue, at place: JSONPointer) throws(FieldFault) {
        switch value {
        case .null, .bool: return
        case .number(let number):
            guard number.isPortable else {
                throw FieldFault(.invalidField, at: place, "a number beyond the range of a double")
            }
        case .string(let text): try check(text, at: place)
        case .array(let elements):
            for (index, element) in elements.enumerated() { try check(element, at: place.index(index)) }
        case .object(let object):
            for member in object.members {
                try check(member.key, at: place)
                try check(member.value, at: place.key(member.key))
            }
        }
    }

    private static func check(_ text: String, at place: JSONPointer) throws(FieldFault) {
        guard !text.utf8.contains(0) else {
            throw FieldFault(.invalidField, at: place, "the character U+0000 cannot be stored")
        }
    }
}
