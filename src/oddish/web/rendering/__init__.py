"""Text that agents, tools and files wrote, as markup that can do no harm. What comes out of here needs no escaping."""
