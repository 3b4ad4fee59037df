import Store
import Testing

@testable import Operations

@Suite("The question of an explanation")
struct ExplainQuestionTests {
    private static func fields(_ items: [String] = [], _ values: [String: String]) -> OperationFields {
        OperationFields(items: items, values: values.mapValues { [$0] }, switches: [])
    }

    @Test("a question names a user, and a notification, an event or nothing else")
    func subjects() throws {
        let event = try ExplainQuestion(Self.fields([], ["app": "drop", "user": "ada", "event": "e1"]))
        #expect(event.app?.text == "drop" && event.user.text == "ada")
        guard case .event(let id) = event.subject else {
            Issue.record("\(event.subject)")
            return
        }
        #expect(id.text == "e1")
        let name = "noti_1c0d30af6f555b13"
        let notification = try ExplainQuestion(Self.fields([name], ["app": "drop", "user": "ada"]))
        guard case .notification(let found) = notification.subject else {
            Issue.record("\(notification.subject)")
            return
        }
        #expect(found.text == name)
        let user = try ExplainQuestion(Self.fields([], ["app": "drop", "user": "ada"]))
        #expect(user.subject == nil)
        let anyApp = try ExplainQuestion(Self.fields([], ["user": "ada"]))
        #expect(anyApp.app == nil && anyApp.user.text == "ada")
    }

    @Test(
        "an invalid question names the field",
        arguments: [
            ([], ["app": "No App", "user": "ada"], "app", "app takes"),
            ([], ["app": "drop", "event": "e"], "user", "user is missing"),
            (["noti_1"], ["app": "drop", "user": "ada"], "items", "expected the whole id of a notification"),
            (["noti_1"], ["app": "drop", "user": "ada", "event": "e"], "items", "expected at most one notification"),
        ] as [([String], [String: String], String, String)]
    )
    func invalid(_ items: [String], _ values: [String: String], _ field: String, _ message: String) {
        do throws(OperationError) {
            let question = try ExplainQuestion(Self.fields(items, values))
            Issue.record("\(question)")
        } catch {
            #expect(error.kind == .invalid(field: field))
            #expect(error.text.hasPrefix(message), "\(error.text)")
        }
    }
}
