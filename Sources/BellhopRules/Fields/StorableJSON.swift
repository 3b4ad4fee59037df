/// Detects legal JSON that PostgreSQL or other programs in the chain cannot store or read.
///
/// This is U+0000, which PostgreSQL rejects in text and `jsonb`, and numbers beyond an IEEE double (see
/// `JSONNumber.isPortable`).
enum StorableJSON {
    /// The first value that cannot be stored, with the steps that lead to it in reverse order.
    ///
    /// The pointer is created only for a finding. With long keys above many values, pointers at every step would make
    /// the inspection quadratic.
    private struct Violation {
        enum Step {
            case key(String)
            case index(Int)
        }

        let message: String
        var steps: [Step] = []

        func reached(by step: Step) -> Violation {
            var longer = self
            longer.steps.append(step)
            return longer
        }
    }

    static func check(_ document: JSONValue, at place: JSONPointer) throws(FieldFault) {
        guard let finding = finding(in: document) else { return }
        let pointer = finding.steps.reversed().reduce(place) { pointer, step in
            switch step {
            case .key(let key): pointer.key(key)
            case .index(let index): pointer.index(index)
            }
        }
        throw FieldFault(.invalidField, at: pointer, finding.message)
    }

    private static func finding(in value: JSONValue) -> Violation? {
        switch value {
        case .null, .bool: return nil
        case .number(let number):
            return number.isPortable ? nil : Violation(message: "a number beyond the range of a double")
        case .string(let text): return finding(in: text)
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                if let finding = finding(in: element) { return finding.reached(by: .index(index)) }
            }
        case .object(let object):
            for member in object.members {
                if let finding = finding(in: member.key) { return finding }
                if let finding = finding(in: member.value) { return finding.reached(by: .key(member.key)) }
            }
        }
        return nil
    }

    private static func finding(in text: String) -> Violation? {
        text.utf8.contains(0) ? Violation(message: "the character U+0000 cannot be stored") : nil
    }
}
