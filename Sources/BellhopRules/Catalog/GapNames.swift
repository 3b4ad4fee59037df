/// The names that the gaps of a template may have.
struct GapNames {
    private let aliases: [String: String]
    private let closed: [String]?

    /// Those of an event: its own fields, whatever its data may hold, and an app's second names for either.
    static func ofEvents(aliases: [String: String]) -> GapNames {
        GapNames(aliases: aliases, closed: nil)
    }

    /// These and no others.
    static func of(_ names: [String]) -> GapNames {
        GapNames(aliases: [:], closed: names)
    }

    func source(of name: String) throws(Template.SyntaxFault) -> Template.Source {
        guard Template.isName(name) else {
            throw .init(message: "a placeholder is a name of letters, digits, _ and -, with dots between steps")
        }
        if let closed, !closed.contains(name) {
            throw .init(message: "there is no value of this name here; known are " + closed.joined(separator: ", "))
        }
        return Template.Source(name: aliases[name] ?? name)
    }
}
