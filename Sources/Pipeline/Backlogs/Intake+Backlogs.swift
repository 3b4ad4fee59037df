package import BellhopRules

extension Intake {
    /// Returns a service that resumes the deliveries in the backlogs of these lanes.
    package func puller(for lanes: [Lane], every interval: Duration = .seconds(1)) -> BacklogPuller {
        BacklogPuller(
            store: tools.store,
            outlets: tools.outlets,
            sender: PulledDeliverySender(
                catalogs: catalogs,
                zones: zones,
                outlets: tools.outlets.keys,
                resumption: resumption,
                dispatcher: dispatcher,
                settler: settler,
                context: context
            ),
            metrics: context.metrics.backlogs,
            context: context,
            failing: FailingUsersByPlace(context),
            priorities: Set(Priority.allCases.filter { lanes.contains($0.lane) }),
            interval: interval
        )
    }
}
