import BellhopRules
import TestSupport
import Testing

/// The state machines of clients, by one table.
///
/// The client library for JavaScript is tested by the same table.
@Suite("State machines of clients")
struct MachineTests {
    private static let table = "Tests/Tables/state-machines.json"

    private let permission: JSONValue
    private let subscription: JSONValue

    init() throws {
        let table = try JSONParser().parse(Array(try Checkout.text(Self.table).utf8)).get()
        permission = try #require(table["permission"])
        subscription = try #require(table["subscription"])
    }

    /// Expects that exactly the transitions of the table exist.
    private func expectTransitions<State: ClientStateMachine>(of machine: JSONValue, _ states: State.Type) {
        let transitions = Set(Self.transitions(of: machine))
        var taken: Set<[String]> = []
        for state in State.allCases {
            for event in State.Event.allCases {
                let next = state.applying(event)
                var moving = state
                let isMoved = moving.apply(event)
                #expect(isMoved == (next != nil))
                #expect(moving == next ?? state)
                if let next { taken.insert([state.rawValue, event.rawValue, next.rawValue]) }
            }
        }
        #expect(taken == transitions)
        #expect(!transitions.isEmpty)
    }

    private static func transitions(of machine: JSONValue) -> [[String]] {
        (machine["transitions"]?.array ?? []).map { ($0.array ?? []).compactMap(\.string) }
    }

    @Test("the permission has every transition of the table, and no other")
    func permissions() {
        expectTransitions(of: permission, PermissionState.self)
    }

    @Test("the subscription has every transition of the table, and no other")
    func subscriptions() {
        expectTransitions(of: subscription, SubscriptionState.self)
    }

    @Test("the page for apps shows the same transitions")
    func page() throws {
        let page = try Checkout.text("docs/client-kit.md")
        let drawn = page.split(separator: "\n").map(String.init).filter { $0.contains(" --> ") && !$0.contains("[*]") }
        let known = [permission, subscription].flatMap(Self.transitions).map { "\($0[0]) --> \($0[2]): \($0[1])" }
        #expect(drawn.map { $0.trimmingPrefix { $0 == " " } }.map(String.init).sorted() == known.sorted())
    }

    @Test("every state is reachable from the initial states")
    func reachable() {
        for (machine, states) in [
            (permission, PermissionState.allCases.map(\.rawValue)),
            (subscription, SubscriptionState.allCases.map(\.rawValue)),
        ] {
            var reached = Set((machine["initial"]?.array ?? []).compactMap(\.string))
            for _ in states {
                reached.formUnion(Self.transitions(of: machine).filter { reached.contains($0[0]) }.map { $0[2] })
            }
            #expect(reached == Set(states))
        }
        let initial = [SubscriptionState.initial.rawValue, SubscriptionState.globalInitial.rawValue]
        let named = JSONValue.array(initial.map(JSONValue.string))
        #expect(subscription["initial"] == named)
        #expect(permission["initial"] == [.string(PermissionState.initial.rawValue)])
    }

    @Test("each permission state has its value for the server, and each system permission its state at launch")
    func pushPermission() {
        for state in PermissionState.allCases {
            #expect(permission["permissions"]?[state.rawValue]?.string == state.permission.rawValue, "\(state)")
            let isReceiving = permission["receiving"]?.array?.contains(.string(state.rawValue)) == true
            #expect(isReceiving == state.receivesPushes, "\(state)")
        }
        for known in PushPermission.allCases {
            let launched = permission["launches"]?[known.rawValue]?.string
            #expect(launched == PermissionState(atLaunch: known).rawValue, "\(known)")
        }
    }

    @Test("only states with a role, owner or observer, are subscribed")
    func roles() {
        for state in SubscriptionState.allCases {
            #expect(subscription["roles"]?[state.rawValue]?.string == state.role?.text, "\(state)")
        }
    }
}
