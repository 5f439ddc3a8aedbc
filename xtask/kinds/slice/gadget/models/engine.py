class Engine(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'id': 'str',
            'name': 'str',
            'compartment_id': 'str',
            'fuel': 'str',
            'pressure': 'int',
            'lifecycle_state': 'str',
        }
        self.attribute_map = {
            'id': 'id',
            'name': 'name',
            'compartment_id': 'compartmentId',
            'fuel': 'fuel',
            'pressure': 'pressure',
            'lifecycle_state': 'lifecycleState',
        }

    @property
    def id(self):
        """
        **[Required]** Gets the id.
        """
        return self._id

    @property
    def name(self):
        """
        **[Required]** Gets the name.
        """
        return self._name

    @property
    def compartment_id(self):
        """
        **[Required]** Gets the compartment_id.
        """
        return self._compartment_id

    @property
    def fuel(self):
        """
        **[Required]** Gets the fuel.
        """
        return self._fuel

    @property
    def pressure(self):
        """
        Gets the pressure.
        """
        return self._pressure

    @property
    def lifecycle_state(self):
        """
        **[Required]** Gets the lifecycle_state.
        """
        return self._lifecycle_state

    @lifecycle_state.setter
    def lifecycle_state(self, lifecycle_state):
        allowed_values = ["ACTIVE", "PENDING_DELETION"]
        self._lifecycle_state = lifecycle_state
