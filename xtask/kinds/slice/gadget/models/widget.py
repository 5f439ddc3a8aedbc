class Widget(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'id': 'str',
            'lifecycle_state': 'str',
        }
        self.attribute_map = {
            'id': 'id',
            'lifecycle_state': 'lifecycleState',
        }

    @property
    def id(self):
        """
        Gets the id.
        """
        return self._id

    @property
    def lifecycle_state(self):
        """
        Gets the lifecycle_state.
        """
        return self._lifecycle_state
