extension CatalogParser {
    /// Reads the tags of the app, in the order of the filters.
    func tags() -> [CatalogTag] {
        guard let scope = root.scope("tags") else { return [] }
        if !(1...CatalogTag.most).contains(scope.object.members.count) {
            root.report("tags", "expected 1 to \(CatalogTag.most) tags, found \(scope.object.members.count)")
        }
        return scope.object.members.compactMap { member in
            guard let id = TypeTag(validating: member.key) else {
                scope.report(member.key, "expected a tag of \(TypeTag.rule)")
                return nil
            }
            return CatalogTag(id: id, labels: scope.lines(member.key, language, required: true))
        }
    }

    /// Reports tags that no type has: their filters would always be empty.
    func checkUse(of tags: [CatalogTag], by types: [CatalogType]) {
        for tag in tags where !types.contains(where: { $0.tags.contains(tag.id) }) {
            root.scope("tags")?.report(tag.id.text, "no type has this tag")
        }
    }
}

extension JSONScope {
    /// Reads the tags of a type, which must be among those of the app.
    func tags(of app: [CatalogTag]) -> [TypeTag] {
        let known = app.map(\.id.text)
        let expected = known.isEmpty ? "no tag, as the app has none" : "one of \(known.joined(separator: ", "))"
        let tags = list("tags", expected) { value -> TypeTag? in
            value.string.flatMap(TypeTag.init(validating:)).flatMap { known.contains($0.text) ? $0 : nil }
        }
        if let tags, tags.count > CatalogTag.mostOfType {
            report("tags", "expected at most \(CatalogTag.mostOfType) tags, found \(tags.count)")
        }
        return tags ?? []
    }
}
