import BellhopJSON
import CLI
import Operations
import ServiceRuntime
import Store

extension DeadLetterSession {
    /// Performs `edit`: it sends a corrected copy of a message that was never recorded, and marks the original as
    /// resolved by the copy.
    func edit() async throws -> ExitCode {
        if operands.isEmpty { return try await editAll() }
        let letter = try await operations.editable(input)
        // An operator who sees a body in an editor is recorded first. In all other cases the reason is asked last.
        let author = needsEditor ? try actingOperator() : nil
        let body = try await newBody(of: letter, author)
        var draft = author == nil ? nil : EditedDraft.keep(body, of: letter.id)
        do {
            let edit = try await operations.edit(letter, body, input)
            explain(edit.lines)
            if words.has("dry-run") {
                if let draft { print(draft.words) }
                return foresee(edit)
            }
            guard try confirm(edit.question) else {
                if let draft { print(draft.words) }
                return .answerIsNo
            }
            let (replay, items) = try await operations.send(edit, input, by: try author ?? actingOperator())
            draft?.remove()
            draft = nil
            explain(edit.corrections.map { "The copy is \($0.copy.deadID), sent by replay \(replay)." })
            guard words.has("detach") else { return try await watch(replay) }
            if isJSON { print(edit.json(items: items, replay: replay).written) }
            return .done
        } catch let failure as CommandFailure {
            throw draft?.telling(failure) ?? failure
        } catch let error as OperationError {
            let failure = CommandFailure(error, words)
            throw draft?.telling(failure) ?? failure
        } catch {
            // A database error names the database, but only this code can report the path of the draft.
            if let draft { request.shell.complaints.print(line: draft.words) }
            throw error
        }
    }

    /// Whether an operator writes the text in an editor.
    private var needsEditor: Bool {
        words.value("file") == nil && words.allValues("set").isEmpty && words.value("routing-key") == nil
    }

    /// Returns the body from the file, the options or the operator's editor.
    private func newBody(of letter: EditableDeadLetter, _ author: ActingOperator?) async throws -> [UInt8] {
        if let path = words.value("file") { return try EventFile.read(path, request.shell) }
        if let body = try operations.newBody(of: letter, input) { return body }
        guard let author, request.shell.terminal != nil else {
            throw words.misuse("edit needs --set, --file, or a terminal for $EDITOR")
        }
        try await operations.auditReveal(of: letter.detail, by: author)
        let text = letter.body.map { PrettyJSON.lines($0).joined(separator: "\n") + "\n" }.map { [UInt8]($0.utf8) }
        return try await TextEditor(request.shell.environment).edit(text ?? letter.detail.origin.body)
    }

    /// Reports what an edit would send, for `--dry-run`.
    private func foresee(_ edit: DeadLetterEdit) -> ExitCode {
        let copies = edit.count.of("corrected copy", "corrected copies")
        let rows = edit.predictions.rows.map { ["  \($0.words)", $0.items.grouped] }
        answer(
            edit.dryRunJSON,
            lines: ["This would send \(copies); nothing was changed:"]
                + TextTable(["prediction", "copies"], rows: rows).lines().dropFirst()
        )
        return .done
    }

    /// Performs `edit FILTER --set …`: it applies one change to all items that match the filter.
    ///
    /// Shows the difference of the first item, and how many items would be recorded with the change. The others stay
    /// unchanged.
    private func editAll() async throws -> ExitCode {
        guard words.value("file") == nil else {
            throw words.misuse(
                "edit takes one item, or a filter with --set or --routing-key: one change for all of them"
            )
        }
        guard let edit = try await operations.editAll(input, asOf: nil) else {
            answer(.members([("items", .int(0))]), lines: ["No open items match."])
            return .answerIsNo
        }
        explain(edit.lines)
        guard edit.count > 0 else {
            answer(edit.json(items: 0, replay: nil), lines: [DeadLetterEdit.nothing])
            return .answerIsNo
        }
        if words.has("dry-run") { return foresee(edit) }
        guard try confirm(edit.question) else { return .answerIsNo }
        let (replay, items) = try await operations.send(edit, input, by: try actingOperator())
        explain(["Replay \(replay) sends \(items.of("corrected copy", "corrected copies"))."])
        guard words.has("detach") else { return try await watch(replay) }
        answer(edit.json(items: items, replay: replay), lines: [])
        return .done
    }
}
