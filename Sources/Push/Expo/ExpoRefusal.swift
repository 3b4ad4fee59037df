import BellhopRules

/// Why Expo took nothing of a request: the first of its `errors`.
struct ExpoRefusal {
    /// Such as `PUSH_TOO_MANY_EXPERIENCE_IDS`.
    let code: String
    /// For that code: the tokens of each of the projects that were mixed.
    let tokensByProject: [String: [String]]

    /// Nil where the answer holds no errors in Expo's form: then something else has answered.
    init?(_ answer: JSONValue?) {
        guard let error = answer?["errors"]?.array?.first?.object else { return nil }
        code = error["code"]?.string ?? ""
        guard case .object(let details)? = error["details"] else {
            tokensByProject = [:]
            return
        }
        let projects = details.members.compactMap { member in
            member.value.array.map { (member.key, $0.compactMap(\.string)) }
        }
        tokensByProject = Dictionary(projects) { first, _ in first }
    }
}
